import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { LimiterCluster } from '#test/limiter/limiter-cluster';
import { custom } from '#test/limiter/limiter-fixture';

/** End of the month in this test. */
const MONTH_END_MS = Date.UTC(2026, 1, 1);
/** Time between two calls. */
const PERIOD_MS = 10;

/** Monthly quota, which both months use up. */
const CYCLES = 150;

/**
 * Time from a call to its settlement, in milliseconds. A third of the old month's calls are settled
 * in the new month.
 */
const CALL_MS = 1_000;

const turn = suite('when the month ends under load');

turn('both months are used up exactly, and refunds stay in the old month', async () => {
  const cluster = new LimiterCluster();
  const node = await cluster.join('a');
  const customer = await cluster.customer(node, custom(1_000_000, CYCLES));
  const { clock } = cluster;
  clock.stepWall(MONTH_END_MS - 2_000 - clock.wallMs());
  await cluster.admit(node, customer, 1, 0);
  await cluster.live(100);
  const isNew = () => clock.wallMs() >= MONTH_END_MS;
  const granted = { before: 0, after: 0, refusedBefore: 0, refusedAfter: 0 };
  const calls: Promise<void>[] = [];
  const call = async (callId: number, isOld: boolean) => {
    const { verdict, allowance } = await cluster.ask(node, customer, callId, 1);
    assert.is(
      allowance?.monthResetAtS,
      isOld ? MONTH_END_MS / 1_000 : Date.UTC(2026, 2, 1) / 1_000,
    );
    if (verdict !== 'admitted') {
      assert.is(verdict, 'quota_exceeded');
      granted[isOld ? 'refusedBefore' : 'refusedAfter'] += 1;
      return;
    }
    granted[isOld ? 'before' : 'after'] += 1;
    // Calls in progress at the end of the month use no cycles.
    const settle = () => cluster.report(node, customer, callId, isOld && isNew() ? 0 : 1);
    clock.after(CALL_MS, () => void settle());
  };
  for (let callId = 2; clock.wallMs() < MONTH_END_MS + 2_000; callId += 1) {
    const pending = call(callId, !isNew());
    pending.catch(() => undefined);
    calls.push(pending);
    await cluster.live(PERIOD_MS);
  }
  await Promise.all(calls);
  await cluster.live(2 * CALL_MS);
  assert.equal([granted.before, granted.after], [CYCLES, CYCLES]);
  assert.ok(granted.refusedBefore > 0 && granted.refusedAfter > 0, 'both months must be used up');
  const { cyclesUsed, cyclesReserved, cyclesLost } = await node.admin.usage(customer.id);
  assert.equal([cyclesUsed, cyclesReserved, cyclesLost], [CYCLES, 0, 0]);
  assert.equal(cluster.bugs, []);
});

turn.run();
