import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Fault } from '#errors/fault';
import type { LimiterNode } from '#limiter/limiter-node';
import { LimiterCluster } from '#test/limiter/limiter-cluster';
import { custom } from '#test/limiter/limiter-fixture';

const HOUR_MS = 3_600_000;

/** Requests per minute of the account. All of these requests are made before the clock steps. */
const REQUESTS = 50;

/** Maximum time after the step until every call gets an answer, in milliseconds. */
const RECOVERY_MS_MAX = 10_000;

const stepped = suite('when the wall clock of all limiters steps under load by');

for (const stepMs of [HOUR_MS, -HOUR_MS]) {
  const direction = stepMs > 0 ? 'forward' : 'back';

  stepped(`an hour ${direction}, no account gets extra requests or is blocked`, async () => {
    const { cluster, node, customer, verdictOf } = await usedUp();
    cluster.clock.stepWall(stepMs);
    const verdicts = [];
    for (let callId = 1_000; callId < 1_100; callId += 1) {
      verdicts.push(await verdictOf(callId));
      await cluster.live(100);
    }
    assert.not.ok(verdicts.includes('admitted'), 'the monotonic clock measures the window');
    const settledIn = verdicts.slice(RECOVERY_MS_MAX / 120).filter((it) => it !== 'rate_limited');
    assert.equal(settledIn, [], 'every call is answered after the recovery time');
    await cluster.live(60_000);
    assert.is(
      (await cluster.admit(cluster.ownerOf(customer), customer, 2_000)).verdict,
      'admitted',
    );
    assert.is((await node.admin.usage(customer.id)).cyclesLost, 0);
    assert.equal(cluster.bugs, []);
  });

  stepped(`an hour ${direction} and returns, the month's usage remains`, async () => {
    const { cluster, customer, used, verdictOf } = await usedUp();
    for (const byMs of [stepMs, -stepMs]) {
      cluster.clock.stepWall(byMs);
      await cluster.live(RECOVERY_MS_MAX);
      assert.is(await verdictOf(600), 'rate_limited');
    }
    const usage = await cluster.ownerOf(customer).admin.usage(customer.id);
    assert.equal([usage.cyclesUsed, usage.cyclesReserved, usage.cyclesLost], [used, 0, 0]);
  });
}

/** Clock error in milliseconds, as after a battery failure or with a wrong time server. */
const TO_2036_MS = 10 * 365 * 24 * HOUR_MS;

const jumped = suite('when the clock of one of three limiters jumps to 2036');

jumped('no month starts, and the limiter owns no shards until its clock is corrected', async () => {
  const cluster = new LimiterCluster();
  const names = ['a', 'b', 'c'];
  const nodes = new Map<string, LimiterNode>();
  for (const name of names) nodes.set(name, await cluster.join(name));
  await cluster.live(60_000);
  const first = nodes.get('a') as LimiterNode;
  const customer = await cluster.customer(first, custom(1_000, 10));
  const owner = () => cluster.ownerOf(customer);
  await cluster.admit(owner(), customer, 1, 4);
  await cluster.settle(owner(), customer, 1, 4);
  const month = (await owner().admin.usage(customer.id)).monthResetAtS;
  const wrong = owner();
  const name = names.find((each) => nodes.get(each) === wrong) ?? '';
  cluster.stepWallOf(name, TO_2036_MS);
  assert.is((await cluster.admit(wrong, customer, 2, 3)).verdict, 'admitted');
  await cluster.settle(wrong, customer, 2, 3);
  await cluster.live(15_000);
  assert.is(wrong.incarnation?.shards.size, 0, 'the wrong limiter owns no shards');
  assert.is.not(owner(), wrong);
  assert.is((await cluster.admit(owner(), customer, 3, 4)).verdict, 'quota_exceeded');
  const usage = await owner().admin.usage(customer.id);
  assert.equal([usage.cyclesUsed, usage.monthResetAtS, usage.cyclesLost], [7, month, 0]);
  const reported = cluster.notices.filter((notice) => notice.includes('wall clock'));
  assert.is(reported.length, 1, reported.join('; '));
  assert.match(reported[0] ?? '', new RegExp(`^${name}: .* aheadSeconds=315360000$`));
  cluster.stepWallOf(name, -TO_2036_MS);
  await cluster.live(60_000);
  assert.ok((wrong.incarnation?.shards.size ?? 0) > 0, 'the corrected limiter owns shards again');
  assert.equal(cluster.bugs, []);
});

/** Clock error in milliseconds that reaches the next month. */
const DAYS_20_MS = 20 * 24 * HOUR_MS;

const sharesOf = (...nodes: LimiterNode[]): number =>
  nodes.reduce((sum, { incarnation }) => sum + (incarnation?.shards.size ?? 0), 0);

const wrong = suite('a limiter whose clock is 20 days ahead');

wrong('of the others at its start owns no shards, even after the others fail', async () => {
  const cluster = new LimiterCluster();
  const first = await cluster.join('a');
  const right = [first, await cluster.join('b')];
  const customer = await cluster.customer(first, custom(1_000, 10));
  await cluster.admit(cluster.ownerOf(customer), customer, 1, 4);
  await cluster.settle(cluster.ownerOf(customer), customer, 1, 4);
  const late = await cluster.join('c', DAYS_20_MS);
  await cluster.live(15_000);
  assert.is(sharesOf(late), 0);
  for (const node of right) await cluster.kill(node);
  await cluster.live(30_000);
  assert.is(sharesOf(late), 0, 'the limiter must not start a month for any account');
  const reported = cluster.notices.filter((notice) => /^c: the wall clock/.test(notice));
  assert.is(reported.length, 1, reported.join('; '));
  cluster.stepWallOf('c', -DAYS_20_MS);
  await cluster.live(30_000);
  assert.is(cluster.ownerOf(customer), late, 'the corrected limiter takes over');
  assert.is((await cluster.admit(late, customer, 2, 7)).verdict, 'quota_exceeded');
  assert.equal(cluster.bugs, []);
});

wrong('owns no shards while all others restart one by one', async () => {
  const cluster = new LimiterCluster();
  const others = new Map<string, LimiterNode>();
  for (const name of ['a', 'b']) others.set(name, await cluster.join(name));
  const late = await cluster.join('c');
  await cluster.live(60_000);
  cluster.stepWallOf('c', DAYS_20_MS);
  await cluster.live(15_000);
  assert.is(sharesOf(late), 0);
  for (const [name, node] of others) {
    await cluster.kill(node);
    others.set(name, await cluster.join(name));
    await cluster.live(10_000);
    assert.is(sharesOf(late), 0, `after ${name}`);
  }
  assert.is(sharesOf(...others.values()), 4, 'the others own all shards');
  cluster.stepWallOf('c', -DAYS_20_MS);
  await cluster.live(90_000);
  assert.ok(sharesOf(late) > 0, 'the corrected limiter owns shards again');
  assert.equal(cluster.bugs, []);
});

wrong('cannot disable two correct limiters, even with a second wrong limiter', async () => {
  const cluster = new LimiterCluster();
  const first = await cluster.join('a');
  const second = await cluster.join('b');
  for (const name of ['c', 'd']) await cluster.join(name);
  await cluster.live(60_000);
  for (const name of ['c', 'd']) cluster.stepWallOf(name, DAYS_20_MS);
  await cluster.live(15_000);
  assert.is(sharesOf(first, second), 4);
  await cluster.live(60_000);
  assert.is(sharesOf(first, second), 4);
  assert.equal(cluster.bugs, []);
});

const alone = suite('when a cluster has only');

const MONTHS_3_MS = 3 * 31 * 24 * HOUR_MS;

/** One or two limiters, with an account that has used 4 of 10 cycles. */
async function smallOf(...names: string[]) {
  const cluster = new LimiterCluster();
  const nodes: LimiterNode[] = [];
  for (const name of names) nodes.push(await cluster.join(name));
  await cluster.live(60_000);
  const customer = await cluster.customer(nodes[0] as LimiterNode, custom(1_000, 10));
  const admit = async (callId: number, cycles: number) =>
    (await cluster.admit(cluster.ownerOf(customer), customer, callId, cycles)).verdict;
  assert.is(await admit(1, 4), 'admitted');
  await cluster.settle(cluster.ownerOf(customer), customer, 1, 4);
  const usage = async () => await cluster.ownerOf(customer).admin.usage(customer.id);
  return { cluster, admit, usage };
}

for (const names of [['a'], ['a', 'b']]) {
  const size = names.length === 1 ? 'one limiter' : 'two limiters';
  alone(`${size}, the present month starts after months without calls`, async () => {
    const { cluster, admit, usage } = await smallOf(...names);
    cluster.clock.stepWall(MONTHS_3_MS);
    await cluster.live(15_000);
    assert.is(await admit(2, 10), 'admitted');
    assert.is((await usage()).cyclesLost, 0);
    assert.equal(cluster.bugs, []);
  });

  alone(
    `${size}, no month starts if the clock of the store contradicts the clock of the limiters`,
    async () => {
      const { cluster, admit, usage } = await smallOf(...names);
      const { monthResetAtS } = await usage();
      cluster.clock.stepWall(TO_2036_MS);
      cluster.serverAheadMs = -TO_2036_MS;
      await cluster.live(15_000);
      assert.is(await admit(2, 10), 'quota_exceeded');
      assert.is((await usage()).monthResetAtS, monthResetAtS);
      cluster.clock.stepWall(-TO_2036_MS);
      cluster.serverAheadMs = 0;
      await cluster.live(15_000);
      assert.is(await admit(3, 6), 'admitted', 'the rest of the month remains usable');
    },
  );
}

for (const each of [stepped, jumped, wrong, alone]) each.run();

/** An account that has just used up its minute. */
async function usedUp() {
  const cluster = new LimiterCluster();
  const node = await cluster.join('a');
  await cluster.join('b');
  await cluster.live(4_000);
  const customer = await cluster.customer(node, custom(REQUESTS, 1_000));
  const verdictOf = async (callId: number) =>
    await cluster.admit(cluster.ownerOf(customer), customer, callId, 0).then(
      ({ verdict }) => verdict,
      (refusal: Fault) => refusal.code,
    );
  let used = 0;
  for (let callId = 1; callId <= REQUESTS; callId += 1) {
    const owner = cluster.ownerOf(customer);
    const { verdict } = await cluster.admit(owner, customer, callId, 1);
    assert.is(verdict, 'admitted');
    await cluster.settle(owner, customer, callId, 1);
    used += 1;
  }
  assert.is(await verdictOf(500), 'rate_limited');
  return { cluster, node, customer, verdictOf, used };
}
