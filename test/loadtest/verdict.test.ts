import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { PROFILES, type ProfileName } from '#loadtest/k6/profile';
import { PROCESS_ROUTE, slosOf } from '#loadtest/k6/slo';
import { textSummary } from '#loadtest/k6/text-summary';
import { type Metrics, type Verdict, verdictOf } from '#loadtest/k6/verdict';
import { counter, goodFigures, rate, trend, usualScope } from '#test/loadtest/run-figures';

const NAMES = Object.keys(PROFILES) as ProfileName[];
const OWN = { hasOwnAccounts: true };

/** Verdict on a successful run with these changed figures. */
function judged(name: ProfileName, spoilt: Metrics = {}): Verdict {
  const scope = usualScope(name);
  return verdictOf(scope, { ...goodFigures(scope), ...spoilt }, OWN);
}

/** Broken and unmeasured objectives, with the summary's texts. */
function complaints({ judgements, balances }: Verdict): string[] {
  const objectives = judgements.map(({ slo, outcome }) => ({ text: slo.text, outcome }));
  const all = [...objectives, ...balances];
  return all
    .filter(({ outcome }) => outcome !== 'kept')
    .map(({ outcome, text }) => `${outcome}: ${text}`);
}

const good = suite('the figures of a successful run');

for (const name of NAMES) {
  good(`keep every objective of ${name}`, () => {
    const verdict = judged(name);
    assert.equal(complaints(verdict), []);
    assert.is(verdict.outcome, 'kept');
  });
}

const spoilt = suite('a figure of a run');

const steady = `http_req_duration{expected_response:true,name:${PROCESS_ROUTE},scenario:steady}`;

for (const [what, name, metrics, complaint] of [
  ['999 of 1,000 calls answered', 'average', { available: rate(999, 1) }, undefined],
  [
    '998 of 1,000 calls answered',
    'average',
    { available: rate(998, 2) },
    /broken: 99\.9 % of calls/,
  ],
  ['a p99 of 50 ms', 'average', { [steady]: trend(50) }, /broken: 99 % of process/],
  ['a p99 of 49.9 ms', 'average', { [steady]: trend(49.9) }, undefined],
  ['a wrong answer', 'smoke', { wrong_answers: counter(1) }, /broken: no answer is wrong/],
  [
    'a wrong limit header',
    'smoke',
    { headers_exact: rate(999, 1) },
    /broken: every answer has exactly/,
  ],
  [
    'a refusal that takes 100 ms',
    'spike',
    { refusal_duration: trend(100) },
    /refusals come within/,
  ],
  ['a 503 without Retry-After', 'spike', { refusal_retryable: rate(9, 1) }, /503 with Retry-After/],
  ['no refusal', 'spike', { refusal_duration: trend(0, 0) }, undefined],
  [
    'a request above the plan',
    'limiter',
    { 'limiter_admitted{window:1}': counter(11) },
    /minute 2/,
  ],
  ['a cycle above the quota', 'limiter', { month_cycles: counter(21) }, /than 20 cycles/],
] as const) {
  spoilt(`${complaint === undefined ? 'keeps' : 'breaks'} its objective: ${what}`, () => {
    const verdict = judged(name, metrics as Metrics);
    assert.is(verdict.outcome, complaint === undefined ? 'kept' : 'broken');
    if (complaint !== undefined) assert.match(complaints(verdict).join('\n'), complaint);
  });
}

spoilt('breaks the run if it is missing', () => {
  for (const name of NAMES) {
    const scope = usualScope(name);
    for (const { metric, isKeptUnmeasured } of slosOf(scope)) {
      if (isKeptUnmeasured) continue;
      const { [metric]: _, ...rest } = goodFigures(scope);
      const verdict = verdictOf(scope, rest, OWN);
      const isStep = name === 'breakpoint' && metric.includes('scenario:');
      assert.is(verdict.outcome, isStep && !metric.includes('step_01') ? 'kept' : 'broken', metric);
      assert.match(complaints(verdict).join('\n'), /^unmeasured/m, `${name}: ${metric}`);
    }
  }
});

spoilt('breaks the run if it has no samples, although k6 reports 0', () => {
  assert.equal(complaints(judged('average', { [steady]: trend(0, 0) })), [
    'unmeasured: 99 % of process calls take less than 50 ms, steady (100/s)',
  ]);
  assert.is(judged('smoke', { available: rate(0, 0) }).outcome, 'broken');
});

const counts = suite('the balance of counts');

for (const [what, metrics, outcome] of [
  ['a cycle fewer is stored than answered', { cycles_stored: counter(269) }, 'broken'],
  ['a cycle more is stored than answered', { cycles_stored: counter(271) }, 'broken'],
  ['a cycle more is charged than answered', { cycles_charged: counter(271) }, 'broken'],
  [
    'a cycle more is stored than answered, and a call had no answer',
    { cycles_stored: counter(271), cycles_unknown: counter(1) },
    'kept',
  ],
  [
    'a cycle fewer is stored than answered, and a call had no answer',
    { cycles_stored: counter(269), cycles_unknown: counter(1) },
    'broken',
  ],
  ['an instance could not be read back', { cycles_stored: counter(Number.NaN) }, 'broken'],
] as const) {
  counts(`is ${outcome} if ${what}`, () => {
    assert.is(judged('average', metrics as Metrics).outcome, outcome);
  });
}

counts('ignores the charges of an account with other clients', () => {
  const scope = usualScope('average');
  const figures = { ...goodFigures(scope), cycles_charged: counter(500) };
  assert.is(verdictOf(scope, figures, { hasOwnAccounts: false }).outcome, 'kept');
});

counts(
  'is broken if a minute admits fewer requests than the plan, or repeats a remaining count',
  () => {
    const fewer = judged('limiter', { 'limiter_admitted{window:0}': counter(9) });
    assert.match(complaints(fewer).join('\n'), /requests admitted in minute 1/);
    const twice = judged('limiter', { 'limiter_remaining{window:0}': counter(46) });
    assert.match(complaints(twice).join('\n'), /every number once/);
  },
);

const voided = suite('a run');

voided('is void after a dropped iteration, despite good figures', () => {
  for (const name of NAMES.filter((other) => other !== 'breakpoint')) {
    const verdict = judged(name, { dropped_iterations: counter(1) });
    assert.is(verdict.outcome, 'void', name);
    assert.match(verdict.voidBecause.join('\n'), /^1 requests could not be started/);
  }
});

voided('is void if k6 sent too few requests without dropping any', () => {
  const verdict = judged('average', { 'http_reqs{scenario:steady}': counter(26_000) });
  assert.is(verdict.outcome, 'void');
  assert.equal(verdict.voidBecause, ['26000 of 27000 requests of phase steady were sent']);
  const some = judged('average', { 'http_reqs{scenario:steady}': counter(26_900) });
  assert.is(some.outcome, 'kept');
});

voided('is void if nothing was sent, or k6 failed', () => {
  assert.is(judged('smoke', { iterations: counter(0) }).outcome, 'void');
  const scope = usualScope('smoke');
  const faults = ['k6 ended with 107'];
  assert.is(verdictOf(scope, goodFigures(scope), { ...OWN, faults }).outcome, 'void');
});

const steps = suite('a breakpoint run');

const dropped = (step: string) => ({ [`dropped_iterations{scenario:${step}}`]: counter(1) });

for (const [what, metrics, held, outcome] of [
  ['no step breaks', {}, 10, 'kept'],
  ['the fourth step is not answered', { 'available{scenario:step_04}': rate(9, 1) }, 3, 'kept'],
  [
    'the fourth step drops iterations',
    { ...dropped('step_04'), dropped_iterations: counter(1) },
    3,
    'kept',
  ],
  [
    'the fourth step is not sent completely',
    { 'http_reqs{scenario:step_04}': counter(6_000) },
    3,
    'kept',
  ],
  [
    'the first step is not sent completely',
    { 'http_reqs{scenario:step_01}': counter(9) },
    0,
    'void',
  ],
  [
    'the first step breaks an objective',
    { 'available{scenario:step_01}': rate(9, 1) },
    0,
    'broken',
  ],
  ['the first step drops iterations', dropped('step_01'), 0, 'void'],
  ['an answer is wrong', { wrong_answers: counter(1) }, 10, 'broken'],
] as const) {
  steps(`holds ${held} steps and is ${outcome} when ${what}`, () => {
    const verdict = judged('breakpoint', metrics as Metrics);
    assert.is(verdict.held?.length, held);
    assert.is(verdict.outcome, outcome);
  });
}

const summary = suite('the summary');

summary('shows the result of each objective, without rounding up', () => {
  const scope = usualScope('average');
  const metrics = { ...goodFigures(scope), available: rate(99_899, 101) };
  const text = textSummary({ scope, metrics, verdict: verdictOf(scope, metrics, OWN) });
  assert.match(text, /^# Load test `average`: an objective is broken$/m);
  assert.match(
    text,
    /\| 99\.9 % of calls are answered \| >= 99\.9 % \| 99\.899 % \| \*\*BROKEN\*\* \|/,
  );
  assert.match(text, /\| cycles answered = cycles stored \| 270 \| 270 \| kept \|/);
});

summary('starts with the reasons of a void run', () => {
  const scope = usualScope('average');
  const metrics = { ...goodFigures(scope), dropped_iterations: counter(7) };
  const text = textSummary({ scope, metrics, verdict: verdictOf(scope, metrics, OWN) });
  assert.match(text, /: VOID, the run proves nothing\n[^|]*\*\*Void:\*\* 7 requests/);
});

summary('shows the highest rate that kept every objective', () => {
  const scope = usualScope('breakpoint');
  const metrics = { ...goodFigures(scope), 'available{scenario:step_04}': rate(9, 1) };
  const text = textSummary({ scope, metrics, verdict: verdictOf(scope, metrics, OWN) });
  assert.match(text, /^# Load test `breakpoint`: 180 requests\/s held$/m);
  assert.match(text, /up to \*\*180 requests\/s\*\* kept .* failed step: 240 requests\/s/);
});

for (const each of [good, spoilt, counts, voided, steps, summary]) each.run();
