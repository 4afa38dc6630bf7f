import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { PROFILES, type ProfileName } from '#loadtest/k6/profile';
import { PROCESS_ROUTE, slosOf } from '#loadtest/k6/slo';
import { textSummary } from '#loadtest/k6/text-summary';
import { type Metrics, type Verdict, verdictOf } from '#loadtest/k6/verdict';
import { counter, goodFigures, rate, trend, usualScope } from '#test/loadtest/run-figures';

const NAMES = Object.keys(PROFILES) as ProfileName[];
const OWN = { hasOwnAccounts: true };

/** Verdict on a good run with these changed figures. */
function judged(name: ProfileName, spoilt: Metrics = {}): Verdict {
  const scope = usualScope(name);
  return verdictOf(scope, { ...goodFigures(scope), ...spoilt }, OWN);
}

/** Broken objectives in the words of the summary. */
function complaints({ judgements, balances }: Verdict): string[] {
  const objectives = judgements.map(({ slo, outcome }) => ({ text: slo.text, outcome }));
  const all = [...objectives, ...balances];
  return all
    .filter(({ outcome }) => outcome !== 'kept')
    .map((one) => `${one.outcome}: ${one.text}`);
}

const good = suite('the figures of a successful run');

for (const name of NAMES) {
  good(`keep every objective of ${name}`, () => {
    const verdict = judged(name);
    assert.equal(complaints(verdict), []);
    assert.is(verdict.outcome, 'kept');
  });
}

const spoilt = suite('one changed figure');

const steady = `http_req_duration{expected_response:true,name:${PROCESS_ROUTE},scenario:steady}`;

for (const [what, name, metrics, complaint] of [
  ['999 of 1,000 answered is enough', 'average', { available: rate(999, 1) }, undefined],
  ['998 of 1,000 answered', 'average', { available: rate(998, 2) }, /broken: 99\.9 % of calls/],
  ['a 99th percentile of 50 ms', 'average', { [steady]: trend(50) }, /broken: 99 % of process/],
  ['one of 49.9 ms is enough', 'average', { [steady]: trend(49.9) }, undefined],
  ['a wrong answer', 'smoke', { wrong_answers: counter(1) }, /broken: no answer is wrong/],
  ['a wrong header', 'smoke', { headers_exact: rate(999, 1) }, /broken: every answer has exactly/],
  [
    'a refusal that takes 100 ms',
    'spike',
    { refusal_duration: trend(100) },
    /refusals come within/,
  ],
  ['a 503 without Retry-After', 'spike', { refusal_retryable: rate(9, 1) }, /503 with Retry-After/],
  ['no refusal at all is none too late', 'spike', { refusal_duration: trend(0, 0) }, undefined],
  [
    'a request above the plan',
    'limiter',
    { 'limiter_admitted{window:1}': counter(11) },
    /minute 2/,
  ],
  ['a cycle above the quota', 'limiter', { month_cycles: counter(21) }, /than 20 cycles/],
] as const) {
  spoilt(`is ${complaint === undefined ? 'accepted' : 'detected'}: ${what}`, () => {
    const verdict = judged(name, metrics as Metrics);
    assert.is(verdict.outcome, complaint === undefined ? 'kept' : 'broken');
    if (complaint !== undefined) assert.match(complaints(verdict).join('\n'), complaint);
  });
}

spoilt('breaks a run if missing, whichever it is', () => {
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

spoilt('breaks a run if never fed, although k6 reports 0', () => {
  assert.equal(complaints(judged('average', { [steady]: trend(0, 0) })), [
    'unmeasured: 99 % of process calls take less than 50 ms, steady (100/s)',
  ]);
  assert.is(judged('smoke', { available: rate(0, 0) }).outcome, 'broken');
});

const counts = suite('answered, stored and charged cycles');

for (const [what, metrics, outcome] of [
  ['a cycle less is stored', { cycles_stored: counter(269) }, 'broken'],
  ['a cycle more is stored', { cycles_stored: counter(271) }, 'broken'],
  ['a cycle more is charged', { cycles_charged: counter(271) }, 'broken'],
  [
    'a cycle more is stored than answered, and one call had no answer',
    { cycles_stored: counter(271), cycles_unknown: counter(1) },
    'kept',
  ],
  [
    'a cycle less is stored, and one call had no answer',
    { cycles_stored: counter(269), cycles_unknown: counter(1) },
    'broken',
  ],
  ['an instance could not be read back', { cycles_stored: counter(Number.NaN) }, 'broken'],
] as const) {
  counts(`is ${outcome} when ${what}`, () => {
    assert.is(judged('average', metrics as Metrics).outcome, outcome);
  });
}

counts('are not compared with the charges of an account with other users', () => {
  const scope = usualScope('average');
  const figures = { ...goodFigures(scope), cycles_charged: counter(500) };
  assert.is(verdictOf(scope, figures, { hasOwnAccounts: false }).outcome, 'kept');
});

counts('reveal a minute that admitted fewer than the plan, or a repeated count', () => {
  const fewer = judged('limiter', { 'limiter_admitted{window:0}': counter(9) });
  assert.match(complaints(fewer).join('\n'), /requests admitted in minute 1/);
  const twice = judged('limiter', { 'limiter_remaining{window:0}': counter(46) });
  assert.match(complaints(twice).join('\n'), /every number once/);
});

const voided = suite('a run');

voided('is void after a dropped iteration, despite good figures', () => {
  for (const name of NAMES.filter((one) => one !== 'breakpoint')) {
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

const steps = suite('a breakpoint');

const dropped = (step: string) => ({ [`dropped_iterations{scenario:${step}}`]: counter(1) });

for (const [what, metrics, held, outcome] of [
  ['no step breaks', {}, 10, 'kept'],
  ['the fourth is not answered', { 'available{scenario:step_04}': rate(9, 1) }, 3, 'kept'],
  [
    'the fourth drops iterations',
    { ...dropped('step_04'), dropped_iterations: counter(1) },
    3,
    'kept',
  ],
  ['the fourth is not sent whole', { 'http_reqs{scenario:step_04}': counter(6_000) }, 3, 'kept'],
  ['the first is not sent whole', { 'http_reqs{scenario:step_01}': counter(9) }, 0, 'void'],
  ['the first breaks', { 'available{scenario:step_01}': rate(9, 1) }, 0, 'broken'],
  ['the first drops iterations', dropped('step_01'), 0, 'void'],
  ['an answer is wrong', { wrong_answers: counter(1) }, 10, 'broken'],
] as const) {
  steps(`holds ${held} steps and is ${outcome} when ${what}`, () => {
    const verdict = judged('breakpoint', metrics as Metrics);
    assert.is(verdict.held?.length, held);
    assert.is(verdict.outcome, outcome);
  });
}

const summary = suite('the summary');

summary('shows the result of each objective, and never rounds up', () => {
  const scope = usualScope('average');
  const metrics = { ...goodFigures(scope), available: rate(99_899, 101) };
  const text = textSummary({ scope, metrics, verdict: verdictOf(scope, metrics, OWN) });
  assert.match(text, /^# Load test `average`: an objective is broken$/m);
  assert.match(
    text,
    /\| 99\.9 % of calls are answered \| >= 99\.9 % \| 99\.899 % \| \*\*BROKEN\*\* \|/,
  );
  assert.match(text, /\| cycles answered are the cycles stored \| 270 \| 270 \| kept \|/);
});

summary('starts with the reasons of a void run', () => {
  const scope = usualScope('average');
  const metrics = { ...goodFigures(scope), dropped_iterations: counter(7) };
  const text = textSummary({ scope, metrics, verdict: verdictOf(scope, metrics, OWN) });
  assert.match(text, /: VOID, it proves nothing\n[^|]*\*\*Void:\*\* 7 requests/);
});

summary('names the rate that held', () => {
  const scope = usualScope('breakpoint');
  const metrics = { ...goodFigures(scope), 'available{scenario:step_04}': rate(9, 1) };
  const text = textSummary({ scope, metrics, verdict: verdictOf(scope, metrics, OWN) });
  assert.match(text, /^# Load test `breakpoint`: 180 requests\/s held$/m);
  assert.match(text, /up to \*\*180 requests\/s\*\* kept .* did not: 240 requests\/s/);
});

for (const each of [good, spoilt, counts, voided, steps, summary]) each.run();
