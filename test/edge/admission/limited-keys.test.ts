import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { inProcessBus } from '#bus/in-process-bus';
import { Admission, type AdmissionCall, LimitedKeys } from '#edge/callers/admission';
import { limitHeaders } from '#edge/http';
import { edgeMetrics } from '#edge/serve/reply';
import type { Allowance, LimiterCall, Verdict } from '#grpc/limiter-messages';
import { busAccountNews } from '#startup/cluster';
import { createMetrics } from '#telemetry/metrics';
import { ManualClock } from '#test/support/manual-clock';

const ADA = 'AdaAdaAdaAda';
const BOB = 'BobBobBobBob';

/** Start of the tests' clocks, in Unix seconds. */
const START_S = Date.UTC(2026, 0, 15, 12) / 1_000;

const ALLOWANCE: Allowance = {
  requestsPerMinute: 60,
  requestsRemaining: 0,
  windowResetAtS: START_S + 20,
  cyclesPerMonth: 1_000,
  cyclesRemaining: 700,
  monthResetAtS: Date.UTC(2026, 1, 1) / 1_000,
  instances: 1_000,
};

const CALL: AdmissionCall = {
  caller: { accountId: ADA, credential: 'first key' },
  address: '1.1.1.1',
  callId: 1,
  callTag: 0,
  isKeyed: false,
  scope: 'full',
  cycles: 1,
};

/** An edge's admission with a limiter that answers every call with `verdict` and `allowance`. */
function scene(verdict: Verdict = 'rate_limited') {
  const clock = new ManualClock();
  const bus = inProcessBus({
    clock,
    onBug: (error) => {
      throw error;
    },
  });
  const news = busAccountNews({ bus, prefix: 'test', cluster: 'c' });
  const metrics = createMetrics();
  const limited = new LimitedKeys(clock, news);
  const limiter = {
    verdict,
    allowance: ALLOWANCE as Allowance | undefined,
    asked: 0,
    /** Runs between request and answer. */
    meanwhile: async () => undefined as unknown,
    async ask(_call: LimiterCall) {
      limiter.asked += 1;
      await limiter.meanwhile();
      return { verdict: limiter.verdict, allowance: limiter.allowance };
    },
  };
  const admission = new Admission(limiter, clock, edgeMetrics(metrics), limited);
  const admit = (call: Partial<AdmissionCall> = {}) => admission.admit({ ...CALL, ...call });
  const announce = (accountId: string) => {
    news.announce(accountId);
    clock.advance(0);
  };
  return { clock, limiter, limited, metrics, admission, admit, announce };
}

/** The scene after one refused call. */
async function refused() {
  const found = scene();
  await found.admit();
  assert.is(found.limiter.asked, 1);
  return found;
}

/** Asserts that the limiter gets the next call after `ms`, and no call before. */
async function assertAskedAfter({ clock, limiter, admit }: ReturnType<typeof scene>, ms: number) {
  await admit();
  assert.is(limiter.asked, 1);
  clock.advance(ms);
  await admit();
  assert.is(limiter.asked, 2);
}

const flood = suite('a flood of calls beyond the rate limit');

flood('reaches the limiter once in the window and once in the next', async () => {
  const { clock, limiter, admit } = await refused();
  for (let sent = 0; sent < 1_000; sent += 1) {
    clock.advance(19);
    assert.is((await admit()).refusal?.code, 'rate_limited');
  }
  assert.is(limiter.asked, 1);
  clock.advance(999);
  await admit();
  assert.is(limiter.asked, 1, '1 ms before the reset');
  clock.advance(1);
  limiter.verdict = 'admitted';
  assert.is((await admit()).refusal, undefined);
  assert.is(limiter.asked, 2);
});

flood('reaches the limiter again after 30 s of a longer window', async () => {
  const found = scene();
  found.limiter.allowance = { ...ALLOWANCE, windowResetAtS: START_S + 60 };
  await found.admit();
  found.clock.advance(29_999);
  await assertAskedAfter(found, 1);
});

flood('is timed by the monotonic clock', async () => {
  const found = await refused();
  found.clock.stepWall(3_600_000);
  await found.admit();
  found.clock.stepWall(-7_200_000);
  await assertAskedAfter(found, 20_000);
});

flood('is counted without calls to the limiter', async () => {
  const { metrics, admit } = await refused();
  await admit();
  await admit();
  const { text } = await metrics.scrape();
  assert.match(text, /^edge_refused_unasked_total 2$/m);
  assert.match(text, /^limiter_check_duration_seconds_count 1$/m);
});

const remembered = suite('a cached refusal');

remembered('equals the limiter’s refusal, with the remaining time', async () => {
  const { clock, admit } = await refused();
  clock.advance(12_500);
  const { headers, refusal } = await admit();
  assert.is(refusal?.code, 'rate_limited');
  assert.is(refusal?.retryAfterS, 8);
  assert.equal(headers, {
    'x-ratelimit-limit': 60,
    'x-ratelimit-remaining': 0,
    'x-ratelimit-reset': START_S + 20,
    'x-monthly-remaining': 700,
    'ratelimit-policy': '"minute";q=60;w=60, "month";q=1000;qu="cycles"',
    ratelimit: `"minute";r=0;t=8, "month";r=700;t=${ALLOWANCE.monthResetAtS - START_S - 12}`,
  });
});

// Report 25: a window of 60 s was announced to end in 61 s.
remembered('never ends later than a whole window from now', () => {
  // A window's end is rounded up to a whole second.
  const allowance = { ...ALLOWANCE, windowResetAtS: START_S + 61 };
  const headers = limitHeaders(allowance, START_S * 1_000 + 500);
  assert.match(String(headers['ratelimit']), /^"minute";r=0;t=60,/);
  assert.is(headers['x-ratelimit-reset'], START_S + 61);
});

remembered('applies to its key and scope only', async () => {
  const { limiter, admit } = await refused();
  await admit({ caller: { accountId: ADA, credential: 'second key' } });
  assert.is(limiter.asked, 2);
  await admit({ scope: 'read' });
  assert.is(limiter.asked, 3);
  await admit();
  assert.is(limiter.asked, 3);
});

remembered('is evicted after 10,000 later refusals', async () => {
  const { limiter, admit } = await refused();
  const others = Array.from({ length: 9_999 }, (_, n) => ({
    accountId: BOB,
    credential: `key ${n}`,
  }));
  for (const caller of others) await admit({ caller });
  await admit();
  assert.is(limiter.asked, 10_000);
  await admit({ caller: { accountId: BOB, credential: 'one more' } });
  await admit();
  assert.is(limiter.asked, 10_002);
});

const changed = suite('when an account change is announced');

changed('the limiter is asked about the keys of this account again, but not others', async () => {
  const { limiter, admit, announce } = await refused();
  const other = { caller: { accountId: BOB, credential: 'key of Bob' } };
  await admit({ scope: 'read' });
  await admit(other);
  announce(ADA);
  limiter.verdict = 'admitted';
  assert.is((await admit()).refusal, undefined);
  assert.is((await admit({ scope: 'read' })).refusal, undefined);
  assert.is((await admit(other)).refusal?.code, 'rate_limited');
  assert.is(limiter.asked, 5);
});

changed('an answer in flight is not cached', async () => {
  const { clock, limiter, admit, announce } = scene();
  limiter.meanwhile = async () => announce(ADA);
  await admit();
  limiter.meanwhile = async () => undefined;
  clock.advance(1_000);
  await admit();
  assert.is(limiter.asked, 2);
});

changed(
  'no refusal is cached in the next second, because the limiter may be outdated',
  async () => {
    const { clock, limiter, admit, announce } = await refused();
    announce(ADA);
    clock.advance(999);
    announce(BOB);
    await admit();
    await admit();
    assert.is(limiter.asked, 3);
    clock.advance(1);
    await admit();
    await admit();
    assert.is(limiter.asked, 4);
  },
);

changed('a refusal requested in the next second but answered later is not cached', async () => {
  const { clock, limiter, admit, announce } = scene();
  announce(ADA);
  clock.advance(999);
  limiter.meanwhile = async () => clock.advance(50);
  await admit();
  limiter.meanwhile = async () => undefined;
  await admit();
  assert.is(limiter.asked, 2);
});

changed('a closed edge ignores the announcement', async () => {
  const { limiter, limited, admit, announce } = await refused();
  limited[Symbol.dispose]();
  announce(ADA);
  await admit();
  assert.is(limiter.asked, 1);
});

const everythingElse = suite('an answer that is not rate_limited');

for (const verdict of [
  'admitted',
  'unknown_key',
  'address_not_allowed',
  'read_only_key',
  'account_suspended',
  'quota_exceeded',
] as const) {
  everythingElse(`is never cached: ${verdict}`, async () => {
    const { limiter, admit } = scene(verdict);
    if (verdict === 'unknown_key') limiter.allowance = undefined;
    for (let sent = 0; sent < 5; sent += 1) await admit();
    assert.is(limiter.asked, 5);
  });
}

everythingElse('is never cached: a failed request', async () => {
  const { limiter, admit } = scene();
  limiter.meanwhile = () => Promise.reject(new Error('the limiter is away'));
  for (let sent = 0; sent < 5; sent += 1) {
    assert.is((await admit({ cycles: 0 })).refusal?.code, 'service_unavailable');
  }
  assert.is(limiter.asked, 5);
});

const deaf = suite('without announcements of changes');

deaf('the limiter is asked for every call', async () => {
  const { clock, limiter, metrics } = scene();
  const limited = new LimitedKeys(clock, undefined);
  const admission = new Admission(limiter, clock, edgeMetrics(metrics), limited);
  for (let sent = 0; sent < 5; sent += 1) await admission.admit(CALL);
  assert.is(limiter.asked, 5);
});

for (const each of [flood, remembered, changed, everythingElse, deaf]) each.run();
