import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Fault } from '#errors/fault';
import type { Allowance, Verdict } from '#grpc/limiter-messages';
import {
  ALLOWANCE,
  type Answering,
  admissionUnderTest,
  admitting,
  CALL,
  noNumbers,
  START_S,
  unknown,
} from '#test/edge/admission/admission-fixture';

const admitted = suite('a call that the limiter admits');

for (const [how, answering] of [
  ['immediately', admitting],
  ['later', async (call) => admitting(call)],
] as const satisfies [string, Answering][]) {
  admitted(`${how} has the limit headers and the instance limit of its account`, async () => {
    const { admit, asked } = admissionUnderTest(answering);
    const { headers, refusal, allowance } = await admit();
    assert.equal([refusal, allowance?.instances], [undefined, 12]);
    assert.equal([headers['x-ratelimit-remaining'], headers['x-monthly-remaining']], [40, 700]);
    const named = { accountId: 'AdaAdaAdaAda', keyDigest: 'a key', callId: 7, callTag: 5 };
    assert.equal(asked, [
      {
        kind: 'admit',
        ...named,
        ...{ scope: 'full', cycles: 3, isCallerDescribed: false },
        ...{ address: '1.1.1.1', client: '' },
      },
    ]);
  });
}

admitted('is settled with the same call id and tag', async () => {
  const { admission, asked } = admissionUnderTest(admitting);
  await admission.settle(CALL, 1, { headers: {} });
  const named = { accountId: 'AdaAdaAdaAda', callId: 7, callTag: 5 };
  assert.equal(asked, [{ kind: 'settle', ...named, cyclesUsed: 1 }]);
});

admitted('is timed in seconds in the metric of limiter checks', async () => {
  const { clock, limiter, admit, scraped } = admissionUnderTest(admitting);
  clock.advance(5_000);
  limiter.answering = async (call) => {
    clock.advance(250);
    return admitting(call);
  };
  await admit();
  assert.is(await scraped(/^limiter_check_duration_seconds_sum (\S+)$/m), 0.25);
});

const refused = suite('a call that the limiter refuses');

const REFUSALS: readonly (readonly [Verdict, Partial<Fault>])[] = [
  ['unknown_key', { code: 'unauthorized', retryAfterS: undefined }],
  [
    'address_not_allowed',
    { code: 'forbidden', reason: 'address_not_allowed', retryAfterS: undefined },
  ],
  ['read_only_key', { code: 'forbidden', reason: 'read_only_key', retryAfterS: undefined }],
  ['account_suspended', { code: 'forbidden', reason: 'account_suspended', retryAfterS: undefined }],
  ['rate_limited', { code: 'rate_limited', retryAfterS: 20 }],
  ['quota_exceeded', { code: 'quota_exceeded', retryAfterS: 86_400 }],
];

for (const [verdict, expected] of REFUSALS) {
  refused(`as ${verdict} has the reason, the time to wait, and the account’s limits`, async () => {
    const { admit } = admissionUnderTest(() => ({ verdict, allowance: ALLOWANCE }));
    const { refusal, headers } = await admit();
    assert.instance(refusal, Fault);
    for (const [field, value] of Object.entries(expected)) {
      assert.is(refusal?.[field as keyof Fault], value, field);
    }
    assert.is(headers['x-monthly-remaining'], 700);
  });
}

refused('at the moment of the reset gets a wait of one second, never zero', async () => {
  const allowance = { ...ALLOWANCE, windowResetAtS: START_S, monthResetAtS: START_S };
  for (const verdict of ['rate_limited', 'quota_exceeded'] as const) {
    const { admit } = admissionUnderTest(() => ({ verdict, allowance }));
    assert.is((await admit()).refusal?.retryAfterS, 1, verdict);
  }
});

refused('because its key was never created has zero limits and no instance limit', async () => {
  const { refusal, headers, allowance } = await admissionUnderTest(unknown).admit();
  assert.equal([refusal?.code, allowance], ['unauthorized', undefined]);
  assert.equal(headers, noNumbers(60));
});

const unsure = suite('a call to which the limiter gives no answer');

const away = () =>
  Promise.reject(new Fault('service_unavailable', 'no answer', { reason: 'limiter_unavailable' }));

const left = (cyclesRemaining: Allowance['cyclesRemaining']) => () =>
  ({ verdict: 'admitted', allowance: { ...ALLOWANCE, cyclesRemaining } }) as const;

unsure('is refused for two seconds, with the limiter’s error as cause', async () => {
  const { refusal, allowance } = await admissionUnderTest(away).admit();
  assert.equal(
    [refusal?.code, refusal?.reason, refusal?.retryAfterS, allowance],
    ['service_unavailable', 'limiter_unavailable', 2, undefined],
  );
  assert.is((refusal?.cause as Fault | undefined)?.message, 'no answer');
});

unsure('has zero limits if the account is new to this edge', async () => {
  const { headers } = await admissionUnderTest(away).admit();
  assert.equal(headers, noNumbers(2));
});

unsure('has the last limits of its own account, and no requests left', async () => {
  const { limiter, admit } = admissionUnderTest(left(700));
  await admit();
  limiter.answering = left(600);
  await admit();
  limiter.answering = left(500);
  await admit({ caller: { accountId: 'BobBobBobBob', credential: 'another key' } });
  limiter.answering = away;
  assert.equal((await admit()).headers, {
    'x-ratelimit-limit': 60,
    'x-ratelimit-remaining': 0,
    'x-ratelimit-reset': START_S + 2,
    'x-monthly-remaining': 600,
  });
});

unsure('has zero limits after calls of 10,000 other accounts', async () => {
  const { limiter, admit } = admissionUnderTest(admitting);
  const from = (n: number) => ({ caller: { accountId: `account ${n}`, credential: `key ${n}` } });
  const remembered = async () => {
    limiter.answering = away;
    const { headers } = await admit(from(0));
    limiter.answering = admitting;
    return headers['x-monthly-remaining'];
  };
  for (let n = 0; n < 10_000; n += 1) await admit(from(n));
  assert.is(await remembered(), 700);
  await admit(from(10_000));
  assert.is(await remembered(), 0);
});

unsure('is counted by its reason, or by its code if it has no reason', async () => {
  const { limiter, admit, scraped } = admissionUnderTest(away);
  await admit();
  await admit();
  limiter.answering = () => Promise.reject(new Error('a bug'));
  await admit();
  const counted = (reason: string) =>
    scraped(new RegExp(`^edge_fail_closed_total\\{reason="${reason}"\\} (\\d+)$`, 'm'));
  assert.is(await counted('limiter_unavailable'), 2);
  assert.is(await counted('internal'), 1);
});

for (const each of [admitted, refused, unsure]) each.run();
