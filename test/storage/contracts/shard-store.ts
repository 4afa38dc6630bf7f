import { randomInt } from 'node:crypto';
import type { suite as plainSuite, Test } from 'uvu';
import * as assert from 'uvu/assert';
import { Fault } from '#errors/fault';
import type { ShardChange, ShardedService, ShardRow, ShardStore } from '#storage/ports/cluster';

/** Number of shards of the cluster. */
const SHARDS = 64;

/** Store under contract test. */
export type ShardSubject = {
  readonly name: string;
  /** Opens a store of a new cluster. */
  readonly open: () => Promise<ShardStore>;
  /** uvu's `suite`, or a variant that skips all tests. */
  readonly suite: typeof plainSuite;
};

/** Contract tests of the ShardStore port. */
export function shardStoreContract(subject: ShardSubject): Test[] {
  return [counting(subject), changing(subject), racing(subject)];
}

function counting({ name, open, suite }: ShardSubject): Test {
  const counting = suite(`the number of shards in ${name}`);

  counting('is permanently the number of the first request', async () => {
    const store = await open();
    assert.is(await store.fixCount('engine', 256), 256);
    assert.is(await store.fixCluster('first'), 'first');
    assert.is(await store.fixCluster('second'), 'first');
    assert.is(await store.fixCount('engine', 64), 256);
    assert.is(await store.fixCount('engine', 256), 256);
  });

  counting('is separate per service', async () => {
    const store = await open();
    assert.is(await store.fixCount('engine', 256), 256);
    assert.is(await store.fixCount('limiter', 32), 32);
    assert.is(await store.fixCount('engine', 32), 256);
  });

  counting('is undefined before the first request', async () => {
    const store = await open();
    assert.is(await store.countOf('engine'), undefined);
    await store.fixCount('limiter', 32);
    assert.is(await store.countOf('engine'), undefined);
    await store.fixCount('engine', 256);
    await store.fixCount('engine', 64);
    assert.equal([await store.countOf('engine'), await store.countOf('limiter')], [256, 32]);
  });

  counting('is the same for concurrent requests', async () => {
    const store = await open();
    const wanted = [16, 32, 48, 64];
    const asked = await Promise.allSettled(wanted.map((count) => store.fixCount('engine', count)));
    const standing = await store.fixCount('engine', 1);
    assert.ok(wanted.includes(standing), `${standing} was never requested`);
    for (const answer of asked) {
      if (answer.status === 'fulfilled') assert.is(answer.value, standing);
      else assert.ok(isUnknown(answer.reason), String(answer.reason));
    }
  });
  return counting;
}

function changing({ name, open, suite }: ShardSubject): Test {
  const changing = suite(`changing the owner of a shard in ${name}`);

  takingTurns(changing, open);
  standingApart(changing, open);
  return changing;
}

function takingTurns(changing: Test, open: ShardSubject['open']): void {
  changing('starts with epoch 1 for the first owner', async () => {
    const store = await open();
    assert.is(await store.read('engine', 5), undefined);
    const row = { shard: 5, owner: 'node-a', epoch: 1 };
    assert.equal(await store.change(changeOf(5, undefined, 'node-a')), { isApplied: true, row });
    assert.equal(await store.read('engine', 5), row);
  });

  changing('increments the epoch with every owner', async () => {
    const store = await open();
    let row: ShardRow | undefined;
    for (const [index, owner] of ['node-a', 'node-b', 'node-b', 'node-a'].entries()) {
      const expected = { shard: 5, owner, epoch: index + 1 };
      const changed = await store.change(changeOf(5, row, owner));
      assert.equal(changed, { isApplied: true, row: expected });
      row = expected;
    }
    assert.equal(await store.read('engine', 5), row);
  });

  changing('is refused if the row differs, and returns the row', async () => {
    const store = await open();
    await store.change(changeOf(5, undefined, 'node-a'));
    const first = { shard: 5, owner: 'node-a', epoch: 1 };
    await store.change(changeOf(5, first, 'node-b'));
    const row = { shard: 5, owner: 'node-b', epoch: 2 };
    const beliefs = [
      undefined,
      first,
      { shard: 5, owner: 'node-b', epoch: 1 },
      { shard: 5, owner: 'node-a', epoch: 2 },
      { shard: 5, owner: 'node-b', epoch: 3 },
    ];
    for (const belief of beliefs) {
      const refused = await store.change(changeOf(5, belief, 'node-c'));
      assert.equal(refused, { isApplied: false, row });
    }
    assert.equal(await store.read('engine', 5), row);
  });

  changing('is refused if the shard has no row', async () => {
    const store = await open();
    const belief = { shard: 9, owner: 'node-a', epoch: 1 };
    const refused = await store.change(changeOf(9, belief, 'node-b'));
    assert.equal(refused, { isApplied: false, row: undefined });
    assert.is(await store.read('engine', 9), undefined);
  });
}

function standingApart(changing: Test, open: ShardSubject['open']): void {
  changing("is refused when repeated, and returns the writer's own row", async () => {
    const store = await open();
    const change = changeOf(5, undefined, 'node-a');
    await store.change(change);
    const row = { shard: 5, owner: 'node-a', epoch: 1 };
    assert.equal(await store.change(change), { isApplied: false, row });
  });

  changing('leaves other shards and the other service unchanged', async () => {
    const store = await open();
    await store.change(changeOf(5, undefined, 'node-a'));
    await store.change(changeOf(63, undefined, 'node-b'));
    await store.change(changeOf(5, undefined, 'node-c', 'limiter'));
    assert.equal(byShard(await store.load('engine', SHARDS)), [
      { shard: 5, owner: 'node-a', epoch: 1 },
      { shard: 63, owner: 'node-b', epoch: 1 },
    ]);
    const limiter = { shard: 5, owner: 'node-c', epoch: 1 };
    assert.equal(await store.load('limiter', SHARDS), [limiter]);
    assert.equal(await store.read('limiter', 5), limiter);
    assert.is(await store.read('limiter', 63), undefined);
  });

  changing('appears in a load, with every shard once', async () => {
    const store = await open();
    assert.equal(await store.load('engine', SHARDS), []);
    const expected: ShardRow[] = [];
    for (let shard = 0; shard < SHARDS; shard += 1) {
      const owner = `node-${randomInt(4)}`;
      await store.change(changeOf(shard, undefined, owner));
      expected.push({ shard, owner, epoch: 1 });
    }
    assert.equal(byShard(await store.load('engine', SHARDS)), expected);
  });
}

function racing({ name, open, suite }: ShardSubject): Test {
  const racing = suite(`when several owners claim one shard in ${name}`);

  racing('exactly one of them gets each epoch', async () => {
    const store = await open();
    let row: ShardRow | undefined;
    for (let epoch = 1; epoch <= 4; epoch += 1) {
      const owners = ['node-a', 'node-b', 'node-c', 'node-d'];
      const changes = await Promise.allSettled(
        owners.map((owner) => store.change(changeOf(7, row, owner))),
      );
      const after = await store.read('engine', 7);
      assert.is(after?.epoch, epoch);
      for (const [index, change] of changes.entries()) {
        if (change.status === 'rejected') assert.ok(isUnknown(change.reason));
        else {
          assert.equal(change.value.row, after);
          assert.ok(!change.value.isApplied || after?.owner === owners[index]);
        }
      }
      const applied = changes.filter(
        (change) => change.status === 'fulfilled' && change.value.isApplied,
      );
      const isAnyUnknown = changes.some((change) => change.status === 'rejected');
      assert.ok(applied.length === 1 || (applied.length === 0 && isAnyUnknown));
      row = after;
    }
  });
  return racing;
}

function changeOf(
  shard: number,
  from: ShardRow | undefined,
  owner: string,
  service: ShardedService = 'engine',
): ShardChange {
  return { service, shard, from, owner };
}

function byShard(rows: readonly ShardRow[]): ShardRow[] {
  return rows.toSorted((a, b) => a.shard - b.shard);
}

/** Whether a store gave up under contention with an unknown outcome. */
function isUnknown(error: unknown): boolean {
  return error instanceof Fault && error.isOutcomeUnknown;
}
