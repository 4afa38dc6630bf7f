import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { EAGER_DELAY_MS } from '#shards/journal-bounds';
import { recordsOf } from '#test/actor-runtime/commit-log/journal-records';
import { newScene } from '#test/shards/shards-fixture';
import { pass } from '#test/support/passing';

const eager = suite('an open shard whose actors have recovered records');

eager('activates a bounded number of actors at a time over all shards', async () => {
  const idsOf = (length: number) =>
    Array.from({ length: 20 }, (_, i) => String.fromCharCode(0x4e00 + i).repeat(length));
  const ids = [1, 2, 3].flatMap(idsOf);
  const { shards, clock, host } = await newScene(ids.flatMap((id) => recordsOf(id, [1])));
  const claims = [1, 2, 3].map((shard) => ({ shard, epoch: 2 }));
  await shards.recoverTail('dead', claims);
  for (const claim of claims) shards.openShard(claim);
  await pass(clock, EAGER_DELAY_MS, 10);
  assert.is(host.steps.length, 32);
  await pass(clock, 200, 10);
  assert.is(host.steps.length, 60);
});

eager(
  'starts again only when another shard opens, after all its actors are activated',
  async () => {
    const { shards, clock, host } = await newScene([
      ...recordsOf('a', [1]),
      ...recordsOf('bb', [1]),
    ]);
    await shards.recoverTail('dead', [
      { shard: 1, epoch: 2 },
      { shard: 2, epoch: 2 },
    ]);
    shards.openShard({ shard: 1, epoch: 2 });
    await pass(clock, 2 * EAGER_DELAY_MS, 10);
    assert.equal(host.steps, ['activate a']);
    shards.openShard({ shard: 2, epoch: 2 });
    await pass(clock, 2 * EAGER_DELAY_MS, 10);
    assert.equal(host.steps, ['activate a', 'activate bb']);
  },
);

eager(
  'activates actors without calls gradually, and then advances the low-water mark',
  async () => {
    const ids = Array.from({ length: 70 }, (_, i) => String.fromCharCode(0x4e00 + i));
    const { shards, records, clock, host, lowest } = await newScene(
      ids.flatMap((id) => recordsOf(id, [1])),
    );
    await shards.recoverTail('dead', [{ shard: 1, epoch: 2 }]);
    shards.openShard({ shard: 1, epoch: 2 });
    await pass(clock, EAGER_DELAY_MS - 10, 10);
    assert.is(host.steps.length, 0);
    await pass(clock, 10, 10);
    assert.is(host.steps.length, 32);
    assert.is(lowest(), 1);
    await pass(clock, 100, 10);
    assert.is(host.steps.length, 70);
    assert.is(lowest(), Number.POSITIVE_INFINITY);
    assert.is(records.size, 0);
  },
);

eager('retries failed activations rarely, and continues when they succeed', async () => {
  const { shards, clock, host } = await newScene([...recordsOf('a', [1]), ...recordsOf('b', [1])]);
  await shards.recoverTail('dead', [{ shard: 1, epoch: 2 }]);
  host.isActivationStuck = true;
  shards.openShard({ shard: 1, epoch: 2 });
  await pass(clock, 2 * EAGER_DELAY_MS, 10);
  const before = host.activations;
  await pass(clock, 10_000, 10);
  assert.ok(host.activations - before <= 22, `${host.activations - before}`);
  host.isActivationStuck = false;
  await pass(clock, 1_000, 10);
  assert.equal(host.steps, ['activate a', 'activate b']);
});

eager.run();
