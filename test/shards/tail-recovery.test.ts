import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Fault } from '#errors/fault';
import { lineOf, recordsOf } from '#test/actor-runtime/commit-log/journal-records';
import { newScene } from '#test/shards/shards-fixture';
import { refusalOf, stateOf, turnOfEvents } from '#test/support/settled';

const recovering = suite('the recovery of a failed node’s tail');

recovering(
  'copies the records of the claimed shards unchanged, and ends when they are durable',
  async () => {
    const tail = [...recordsOf('a', [1, 2]), ...recordsOf('bb', [3]), ...recordsOf('ccc', [4])];
    const { shards, hold, mine, recovered } = await newScene(tail);
    const release = hold();
    const done = shards.recoverTail('dead', [
      { shard: 1, epoch: 2 },
      { shard: 3, epoch: 5 },
    ]);
    await turnOfEvents();
    assert.is(await stateOf(done), 'pending');
    assert.equal(await mine(), []);
    release();
    await done;
    assert.equal(await mine(), [...recordsOf('a', [1, 2]), ...recordsOf('ccc', [4])]);
    assert.equal(recovered, [3]);
    assert.ok(shards.isRecovered({ shard: 3, epoch: 5 }));
    assert.not(shards.isRecovered({ shard: 2, epoch: 2 }));
  },
);

recovering(
  'holds the low-water mark back from before the records are durable until the claim is decided',
  async () => {
    const { shards, log, hold, lowest } = await newScene(recordsOf('a', [1]));
    log.add(lineOf({ actorId: 'zz' }));
    await log.whenDurable(1);
    const release = hold();
    const done = shards.recoverTail('dead', [{ shard: 1, epoch: 2 }]);
    await turnOfEvents();
    assert.is(lowest(), 2);
    release();
    await done;
    shards.decided({ shard: 1, epoch: 1 });
    assert.is(lowest(), 2);
    shards.decided({ shard: 1, epoch: 2 });
    assert.is(lowest(), Number.POSITIVE_INFINITY);
  },
);

recovering('is refused after the incarnation has ended', async () => {
  const { shards, log, mine } = await newScene(recordsOf('a', [1]));
  shards.end();
  log.end(new Error('fenced'));
  const refusal = (await refusalOf(() =>
    shards.recoverTail('dead', [{ shard: 1, epoch: 2 }]),
  )) as Fault;
  assert.is(refusal.code, 'service_unavailable');
  assert.equal(await mine(), []);
});

const opening = suite('the opening of a shard after tail recovery');

opening('uses the records of exactly its epoch', async () => {
  for (const epoch of [1, 2, 3]) {
    const { gate, shards } = await newScene(recordsOf('a', [1, 2]));
    await shards.recoverTail('dead', [{ shard: 1, epoch: 2 }]);
    shards.openShard({ shard: 1, epoch });
    const tail = gate.tailOf(1, 'instance', 'a');
    assert.is(tail?.lines.length, epoch === 2 ? 2 : undefined);
    assert.is(shards.open.get(1), epoch);
  }
});

opening(
  'is reported once as a recovery, in seconds since the request for the records',
  async () => {
    const { shards, clock, recoveredS } = await newScene(recordsOf('a', [1]));
    shards.openShard({ shard: 2, epoch: 1 });
    assert.equal(recoveredS, [], 'no record was recovered for the shard');
    clock.advance(5_000);
    await shards.recoverTail('dead', [{ shard: 1, epoch: 2 }]);
    clock.advance(750);
    shards.openShard({ shard: 1, epoch: 2 });
    clock.advance(10_000);
    shards.openShard({ shard: 1, epoch: 3 });
    assert.equal(recoveredS, [0.75]);
  },
);

for (const suite of [recovering, opening]) suite.run();
