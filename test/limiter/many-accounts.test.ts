import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { digestOf } from '#accounts/api-key';
import {
  admission,
  counted,
  custom,
  limiterUnderTest,
  settlement,
} from '#test/limiter/limiter-fixture';
import { pass } from '#test/support/passing';

const ACCOUNTS = 10_000;

/** Calls of each account. */
const CALLS = 3;
/** Calls of each account that the plan allows. */
const REQUESTS = 2;

/** Maximum memory of all meters in bytes: 1.25 KiB each (decision 259, the limiter's budget). */
const BYTES_MAX = ACCOUNTS * 1_280;

const crowd = suite('10,000 accounts in use');

crowd(
  'get exactly their limits, need at most 1.25 KiB each, and are evicted when idle',
  async () => {
    const { limiter, clock, metrics } = await limiterUnderTest(custom(1, 1));
    const keys = new Map<string, string>();
    for (let made = 0; made < ACCOUNTS; made += 1) {
      const choice = custom(REQUESTS, 1_000);
      const { id } = await limiter.admin.createAccount({ name: 'one of many', choice });
      const { key } = await limiter.admin.createKey(id, { scope: 'full' });
      keys.set(id, digestOf(key));
    }
    let lastCallId = 0;
    const asked = Array.from({ length: CALLS }, () =>
      [...keys].map(async ([id, digest]) => {
        lastCallId += 1;
        const callId = lastCallId;
        const { verdict } = await limiter.client.ask(admission(callId, 1, digest, 'full', id));
        return { id, callId, verdict };
      }),
    );
    const answers = await Promise.all(asked.flat());
    const admitted = answers.filter(({ verdict }) => verdict === 'admitted');
    const byAccount = Map.groupBy(admitted, ({ id }) => id);
    assert.is(byAccount.size, ACCOUNTS);
    for (const granted of byAccount.values()) assert.is(granted.length, REQUESTS);
    const checks = 'limiter_checks_total';
    assert.is(await counted(metrics, `${checks}{decision="allow"}`), ACCOUNTS * REQUESTS);
    assert.is(await counted(metrics, `${checks}{decision="rate"}`), ACCOUNTS * (CALLS - REQUESTS));
    assert.is(await counted(metrics, `${checks}{decision="unavailable"}`), 0);
    for (const { id, callId, verdict } of answers) {
      if (verdict === 'admitted') await limiter.client.ask(settlement(callId, 1, id));
    }
    await pass(clock, 25_000, 1_000);
    assert.ok((await counted(metrics, 'identity_actor_bytes{actor="meter"}')) <= BYTES_MAX);
    await pass(clock, 300_000, 50);
    assert.is(await counted(metrics, 'identity_actors_active{actor="meter"}'), 0);
  },
);

crowd.run();
