import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { digestOf } from '#accounts/api-key';
import { Fault } from '#errors/fault';
import type { LimiterAnswer } from '#grpc/limiter-messages';
import { LimiterCluster } from '#test/limiter/limiter-cluster';
import { admission, custom } from '#test/limiter/limiter-fixture';
import { refusalOf } from '#test/support/settled';

const shared = suite('two limiters of a cluster');

shared("refuse calls for each other's accounts, and name the owner", async () => {
  const { cluster, owner, other, customer } = await newScene();
  assert.is((await cluster.admit(owner, customer, 1)).verdict, 'admitted');
  const refusal = (await refusalOf(() => cluster.admit(other, customer, 2))) as Fault;
  assert.equal(
    [refusal.reason, refusal.owner?.incarnation, refusal.isOutcomeUnknown],
    ['not_owner', owner.identity(), false],
  );
});

shared('report the usage of any account', async () => {
  const { cluster, first, second, customer } = await newScene();
  await cluster.admit(cluster.ownerOf(customer), customer, 1, 3);
  await cluster.settle(cluster.ownerOf(customer), customer, 1, 3);
  for (const node of [first, second]) {
    assert.is((await node.admin.usage(customer.id)).cyclesUsed, 3);
  }
});

shared('reset the usage of any account whose meter is in a future month', async () => {
  const { cluster, first, second, owner, customer } = await newScene();
  const monthAt = async () => (await owner.admin.usage(customer.id)).monthResetAtS * 1_000;
  for (const node of [first, second]) {
    cluster.clock.stepWall(31 * 86_400_000);
    await cluster.live(1_000);
    await cluster.admit(owner, customer, 1);
    cluster.clock.stepWall(-31 * 86_400_000);
    assert.is(await monthAt(), Date.UTC(2026, 2, 1), 'the meter must be in the future month first');
    const { monthResetAtS } = await node.admin.resetUsage(customer.id);
    assert.is(monthResetAtS * 1_000, Date.UTC(2026, 1, 1));
    assert.is(await monthAt(), Date.UTC(2026, 1, 1));
  }
});

shared('call the other limiter only for accounts that the other limiter owns', async () => {
  const scene = await newScene();
  const { cluster, customer } = scene;
  await cluster.ownerOf(customer).admin.usage(customer.id);
  assert.equal(cluster.askedAt, []);
  await otherOf(scene).admin.usage(customer.id);
  assert.is(cluster.askedAt.length, 1);
});

shared('report their identity and cluster', async () => {
  const { first, second } = await newScene();
  assert.equal([first.cluster, second.cluster], ['c', 'c']);
  assert.is(first.identity(), first.incarnation?.id);
  assert.is.not(first.identity(), second.identity());
});

shared("refuse to report an account's usage while its owner is unknown", async () => {
  const cluster = new LimiterCluster();
  cluster.isTableThere = false;
  const node = await cluster.join('a');
  const customer = await cluster.customer(node, custom(100, 100));
  const refusal = (await refusalOf(() => node.admin.usage(customer.id))) as Fault;
  assert.equal([refusal.code, refusal.isOutcomeUnknown], ['service_unavailable', false]);
});

shared("apply each other's account changes within a second", async () => {
  const { cluster, owner, other, customer } = await newScene();
  await cluster.admit(owner, customer, 1);
  await other.admin.setStatus(customer.id, 'suspended');
  await cluster.live(1_000);
  assert.is((await cluster.admit(owner, customer, 2)).verdict, 'account_suspended');
  await other.admin.setStatus(customer.id, 'active');
  await other.admin.revokeKey(customer.id, customer.keyId);
  await cluster.live(1_000);
  assert.is((await cluster.admit(owner, customer, 3)).verdict, 'unknown_key');
});

shared('apply their own account changes immediately, without announcements', async () => {
  const { cluster, owner, customer } = await newScene();
  await cluster.admit(owner, customer, 1);
  cluster.isHeard = false;
  await owner.admin.revokeKey(customer.id, customer.keyId);
  assert.is((await cluster.ask(owner, customer, 2)).verdict, 'unknown_key');
});

shared("complete a stored change even if the meter's read fails", async () => {
  const { cluster, owner, customer } = await newScene();
  const release = cluster.holdReads();
  const call = refusalOf(() => cluster.ask(owner, customer, 1));
  const changed = owner.admin.setStatus(customer.id, 'suspended');
  await cluster.live(100);
  release(new Fault('service_unavailable', 'no answer'));
  assert.is((await changed).status, 'suspended');
  assert.is((await call).message, 'no answer');
  assert.equal(cluster.bugs, []);
});

shared('apply a change within 30 s if its announcement is lost', async () => {
  const { cluster, owner, other, customer } = await newScene();
  await cluster.admit(owner, customer, 1);
  cluster.isHeard = false;
  await other.admin.revokeKey(customer.id, customer.keyId);
  assert.is(
    (await cluster.admit(owner, customer, 2)).verdict,
    'admitted',
    'the old state must be cached first',
  );
  await cluster.live(30_000);
  assert.is((await cluster.admit(owner, customer, 3)).verdict, 'unknown_key');
});

shared('read accounts in the background, so that no call waits', async () => {
  const { cluster, owner, customer } = await newScene();
  await cluster.admit(owner, customer, 1);
  const before = cluster.reads;
  const release = cluster.holdReads();
  const waited: LimiterAnswer[] = [];
  for (let call = 2; call < 28; call += 1) {
    await cluster.live(1_000);
    const asked = owner.ask(admission(call, 1, digestOf(customer.key), 'full', customer.id));
    if (asked instanceof Promise) waited.push(await asked);
  }
  assert.is(cluster.reads - before, 1, 'a delayed read must not be repeated');
  release();
});

shared('ignore reads that began before the last announcement', async () => {
  const { cluster, owner, other, customer } = await newScene();
  await cluster.admit(owner, customer, 1);
  await cluster.live(26_000);
  const release = cluster.holdReads();
  await cluster.admit(owner, customer, 2);
  await other.admin.revokeKey(customer.id, customer.keyId);
  release();
  await cluster.live(1_000);
  assert.is((await cluster.admit(owner, customer, 3)).verdict, 'unknown_key');
});

const forged = suite(
  "when a process with the secret claims an account's shard at the largest epoch",
);

forged("every limiter reports the account's usage again within 3 s", async () => {
  const scene = await newScene();
  const { cluster, first, second, customer } = scene;
  await cluster.forgeClaimTo(customer);
  const refused = (await refusalOf(() => otherOf(scene).admin.usage(customer.id))) as Fault;
  assert.match(refused.message, /elsewhere/, 'the forged claim must have an effect first');
  await cluster.live(3_000);
  for (const node of [first, second])
    assert.is((await node.admin.usage(customer.id)).cyclesUsed, 0);
});

forged('no refusal names the forged owner after 3 s', async () => {
  const scene = await newScene();
  const { cluster, customer } = scene;
  await cluster.forgeClaimTo(customer);
  await cluster.live(3_000);
  const refusal = (await refusalOf(() => cluster.admit(otherOf(scene), customer, 1))) as Fault;
  const owner = cluster.ownerOf(customer).identity();
  assert.equal([refusal.reason, refusal.owner?.incarnation], ['not_owner', owner]);
});

forged('a failed call corrects the route, even while the owner table is unavailable', async () => {
  const scene = await newScene();
  const { cluster, customer } = scene;
  cluster.isTableThere = false;
  await cluster.forgeClaimTo(customer);
  await cluster.live(3_000);
  await refusalOf(() => otherOf(scene).admin.usage(customer.id));
  await cluster.live(1_500);
  assert.is((await otherOf(scene).admin.usage(customer.id)).cyclesUsed, 0);
});

const ended = suite('when a limiter');

ended('shuts down, the other continues with exact counts and open reservations', async () => {
  const { cluster, owner, other, customer } = await newScene();
  await cluster.admit(owner, customer, 1, 4);
  await cluster.settle(owner, customer, 1, 3);
  await cluster.admit(owner, customer, 2, 5);
  const left = owner[Symbol.asyncDispose]();
  await cluster.live(6_000);
  await left;
  const settled = await cluster.settle(other, customer, 2, 1);
  assert.equal(
    [settled.allowance?.cyclesRemaining, settled.allowance?.requestsRemaining],
    [96, 98],
  );
  assert.is((await other.admin.usage(customer.id)).cyclesLost, 0);
});

ended('drains, the other continues with exact counts', async () => {
  const { cluster, owner, other, customer } = await newScene();
  await cluster.admit(owner, customer, 1, 4);
  await cluster.settle(owner, customer, 1, 3);
  const had = owner.incarnation?.shards.size;
  assert.equal(await owner.drain(), { incarnation: owner.identity(), openShards: had });
  await cluster.live(6_000);
  assert.is((await owner.drain()).openShards, 0);
  assert.is((await cluster.admit(other, customer, 2)).allowance?.cyclesRemaining, 96);
});

ended('shuts down, it no longer receives account changes', async () => {
  const { cluster, first, second, customer } = await newScene();
  const left = first[Symbol.asyncDispose]();
  await cluster.live(6_000);
  await left;
  assert.is(cluster.listeners, 1);
  await second.admin.setStatus(customer.id, 'suspended');
  await cluster.live(1_000);
  assert.is((await cluster.admit(second, customer, 1)).verdict, 'account_suspended');
});

ended('is fenced, account changes before its rejoin take effect afterwards', async () => {
  const { cluster, owner, customer } = await newScene();
  await cluster.admit(owner, customer, 1);
  await cluster.seal(owner);
  while (owner.incarnation !== undefined) await cluster.live(50);
  assert.is(owner.identity(), 'none');
  await owner.admin.setStatus(customer.id, 'suspended');
  await cluster.live(12_000);
  assert.is(
    (await cluster.admit(cluster.ownerOf(customer), customer, 2)).verdict,
    'account_suspended',
  );
  assert.equal(cluster.bugs, []);
});

ended('crashes, the other counts possible grants as used', async () => {
  const { cluster, owner, other, customer } = await newScene();
  await cluster.admit(owner, customer, 1, 4);
  await cluster.settle(owner, customer, 1, 4);
  const { monthWatermark, windowWatermark } = await owner.admin.usage(customer.id);
  await cluster.kill(owner);
  const { verdict, allowance } = await cluster.admit(other, customer, 2, 1);
  assert.is(verdict, 'admitted');
  assert.is(allowance?.cyclesRemaining, 100 - monthWatermark - 1);
  assert.is(allowance?.requestsRemaining, 100 - windowWatermark - 1);
  assert.is((await other.admin.usage(customer.id)).cyclesLost, monthWatermark);
});

ended('is fenced by a seal alone, it grants only its durable allowance', async () => {
  const { cluster, owner, customer } = await newScene();
  await cluster.admit(owner, customer, 1, 1);
  await cluster.seal(owner);
  const outcomes = [];
  for (let call = 2; call < 60; call += 1) {
    const outcome = await cluster.admit(owner, customer, call).then(
      ({ verdict }) => verdict,
      (refusal: Fault) => refusal.code,
    );
    outcomes.push(outcome);
  }
  const granted = outcomes.filter((outcome) => outcome === 'admitted').length;
  assert.ok(granted <= 10, `${granted} calls granted from durable allowance`);
  assert.is(outcomes.at(-1), 'service_unavailable');
});

async function newScene() {
  const cluster = new LimiterCluster();
  const first = await cluster.join('a');
  const second = await cluster.join('b');
  await cluster.live(4_000);
  const customer = await cluster.customer(first, custom(100, 100));
  const owner = cluster.ownerOf(customer);
  return { cluster, first, second, owner, other: owner === first ? second : first, customer };
}

/** The limiter that does not own the account. */
function otherOf({ cluster, first, second, customer }: Awaited<ReturnType<typeof newScene>>) {
  return cluster.ownerOf(customer) === first ? second : first;
}

shared.run();
forged.run();
ended.run();
