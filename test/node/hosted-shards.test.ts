import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Fault } from '#fault/fault';
import { CLOSE_POLL_MS, EAGER_DELAY_MS, EFFECT_RETRY_MS } from '#node/bounds';
import { HostedShards, type ShardedHost } from '#node/hosted-shards';
import { JournalWriter } from '#node/journal-writer';
import { CommitLog } from '#runtime/commit-log';
import { decodeGroup } from '#runtime/record-codec';
import type { JournalRecord } from '#storage/journal';
import { memoryJournalStore } from '#storage/memory/memory-journal-store';
import { groupOf, lineOf, recordsOf } from '#test/runtime/journal-records';
import { ManualClock } from '#test/support/manual-clock';
import { pass } from '#test/support/passing';
import { refusalOf, stateOf, turnOfEvents } from '#test/support/settled';

/** A host that notes what is asked of it, and takes a tail over when it is told to warm its actor. */
class NotingHost implements ShardedHost {
  readonly kind = 'instance';
  readonly steps: string[] = [];
  readonly #take: (actorId: string) => void;
  busy = 0;
  isStoreDown = false;
  isJournalDown = false;
  ahead: (() => Promise<void>) | undefined;
  /** What had been done before each time that its actors were to say their last. */
  readonly closings: string[][] = [];
  isWarmingStuck = false;
  warmings = 0;

  constructor(take: (actorId: string) => void) {
    this.#take = take;
  }

  warm(actorId: string): void {
    this.warmings += 1;
    if (this.isWarmingStuck) return;
    this.steps.push(`warm ${actorId}`);
    this.#take(actorId);
  }

  busyIn(): number {
    return this.busy;
  }

  async storeAhead(): Promise<void> {
    await this.ahead?.();
  }

  closeShard(): void {
    if (this.closings.push([...this.steps]) === 1 && this.isJournalDown) {
      throw new Error('the journal is down');
    }
  }

  async storeShard(shard: number): Promise<void> {
    if (this.isStoreDown) throw new Error('the store is down');
    this.steps.push(`store ${shard}`);
  }

  dropShard(shard: number): void {
    this.steps.push(`drop ${shard}`);
  }
}

/** Actors live in the shard of their id's length. */
const shardOf = (actorId: string): number => actorId.length;

async function newScene(tail: readonly JournalRecord[] = []) {
  const clock = new ManualClock();
  const journals = memoryJournalStore(clock);
  await journals.begin('me', '127.0.0.1:1');
  await journals.begin('dead', '127.0.0.1:2');
  await journals.append({
    incarnation: 'dead',
    slot: 0,
    records: groupOf(tail),
    lowWaterMark: undefined,
  });
  await journals.seal('dead');
  let held = Promise.resolve();
  const store = {
    ...journals,
    append: async (append: Parameters<typeof journals.append>[0]) => {
      await held;
      return await journals.append(append);
    },
  };
  const ports = { clock, store, onAppended: () => undefined, onFenced: () => undefined };
  const log = new CommitLog(new JournalWriter('me', ports), clock);
  const lows: number[] = [];
  const recoveredS: number[] = [];
  const keep = log.keep.bind(log);
  log.keep = (lowest) => {
    keep(lowest);
    lowestNow = lowest;
  };
  let lowestNow = () => Number.NaN;
  const owner = { incarnation: 'x', address: 'x:1', epoch: 9 };
  const gate = new HostedShards({
    log,
    journals: store,
    clock,
    shardOf,
    ownerOf: (shard) => (shard === 1 ? owner : undefined),
    onTailRecovered: (count) => lows.push(count),
    onTakenOver: (seconds) => recoveredS.push(seconds),
  });
  const host = new NotingHost((id) => gate.activated(shardOf(id), 'instance', id));
  gate.attach(host);
  /** Appends have no answer until the returned function is called. */
  const hold = (): (() => void) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    held = promise;
    return resolve;
  };
  const mine = async () =>
    (await journals.readSlots('me', 0, 99)).flatMap(({ records }) => decodeGroup(records));
  return {
    clock,
    journals,
    log,
    gate,
    host,
    hold,
    mine,
    owner,
    recovered: lows,
    recoveredS,
    lowest: () => lowestNow(),
  };
}

const gates = suite('a shard that is not open here');

gates('is refused with its owner, if that is known', async () => {
  const { gate, owner } = await newScene();
  const refusal = (await refusalOf(() => gate.assertOpen(1))) as Fault;
  assert.equal(
    [refusal.code, refusal.reason, refusal.owner],
    ['service_unavailable', 'not_owner', owner],
  );
  assert.is(((await refusalOf(() => gate.assertOpen(2))) as Fault).owner, undefined);
  gate.openShard({ shard: 1, epoch: 1 });
  gate.assertOpen(1);
});

const adopting = suite('adopting a dead node’s records');

adopting(
  'copies those of the claimed shards, as they are, and ends when they are durable',
  async () => {
    const tail = [...recordsOf('a', [1, 2]), ...recordsOf('bb', [3]), ...recordsOf('ccc', [4])];
    const { gate, hold, mine, recovered } = await newScene(tail);
    const release = hold();
    const done = gate.recoverTail('dead', [
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
    assert.ok(gate.isRecovered({ shard: 3, epoch: 5 }));
    assert.not(gate.isRecovered({ shard: 2, epoch: 2 }));
  },
);

adopting(
  'holds lowWaterMark back from before they are durable until the claim is decided',
  async () => {
    const { gate, log, hold, lowest } = await newScene(recordsOf('a', [1]));
    log.add(lineOf({ actorId: 'zz' }));
    await log.whenDurable(1);
    const release = hold();
    const done = gate.recoverTail('dead', [{ shard: 1, epoch: 2 }]);
    await turnOfEvents();
    assert.is(lowest(), 2);
    release();
    await done;
    gate.decided({ shard: 1, epoch: 1 });
    assert.is(lowest(), 2);
    gate.decided({ shard: 1, epoch: 2 });
    assert.is(lowest(), Number.POSITIVE_INFINITY);
  },
);

adopting('is refused once the incarnation has ended', async () => {
  const { gate, log, mine } = await newScene(recordsOf('a', [1]));
  gate.end();
  log.end(new Error('fenced'));
  const refusal = (await refusalOf(() =>
    gate.recoverTail('dead', [{ shard: 1, epoch: 2 }]),
  )) as Fault;
  assert.is(refusal.code, 'service_unavailable');
  assert.equal(await mine(), []);
});

const opening = suite('opening a shard');

opening('brings the records of exactly its epoch', async () => {
  for (const epoch of [1, 2, 3]) {
    const { gate } = await newScene(recordsOf('a', [1, 2]));
    await gate.recoverTail('dead', [{ shard: 1, epoch: 2 }]);
    gate.openShard({ shard: 1, epoch });
    const tail = gate.tailOf(1, 'instance', 'a');
    assert.is(tail?.lines.length, epoch === 2 ? 2 : undefined);
    assert.is(gate.open.get(1), epoch);
  }
});

opening('is told once as a recovery, in seconds from when the records were asked for', async () => {
  const { gate, clock, recoveredS } = await newScene(recordsOf('a', [1]));
  gate.openShard({ shard: 2, epoch: 1 });
  assert.equal(recoveredS, [], 'nothing was recovered for it');
  clock.advance(5_000);
  await gate.recoverTail('dead', [{ shard: 1, epoch: 2 }]);
  clock.advance(750);
  gate.openShard({ shard: 1, epoch: 2 });
  clock.advance(10_000);
  gate.openShard({ shard: 1, epoch: 3 });
  assert.equal(recoveredS, [0.75]);
});

opening('activates no more at a time of all shards together', async () => {
  const idsOf = (length: number) =>
    Array.from({ length: 20 }, (_, i) => String.fromCharCode(0x4e00 + i).repeat(length));
  const ids = [1, 2, 3].flatMap(idsOf);
  const { gate, clock, host } = await newScene(ids.flatMap((id) => recordsOf(id, [1])));
  const claims = [1, 2, 3].map((shard) => ({ shard, epoch: 2 }));
  await gate.recoverTail('dead', claims);
  for (const claim of claims) gate.openShard(claim);
  await pass(clock, EAGER_DELAY_MS, 10);
  assert.is(host.steps.length, 32);
  await pass(clock, 200, 10);
  assert.is(host.steps.length, 60);
});

opening('asks again only when another shard opens, once everything is activated', async () => {
  const { gate, clock, host } = await newScene([...recordsOf('a', [1]), ...recordsOf('bb', [1])]);
  await gate.recoverTail('dead', [
    { shard: 1, epoch: 2 },
    { shard: 2, epoch: 2 },
  ]);
  gate.openShard({ shard: 1, epoch: 2 });
  await pass(clock, 2 * EAGER_DELAY_MS, 10);
  assert.equal(host.steps, ['warm a']);
  gate.openShard({ shard: 2, epoch: 2 });
  await pass(clock, 2 * EAGER_DELAY_MS, 10);
  assert.equal(host.steps, ['warm a', 'warm bb']);
});

opening(
  'activates what nobody calls, little by little, and then lets lowWaterMark go',
  async () => {
    const ids = Array.from({ length: 70 }, (_, i) => String.fromCharCode(0x4e00 + i));
    const { gate, clock, host, lowest } = await newScene(ids.flatMap((id) => recordsOf(id, [1])));
    await gate.recoverTail('dead', [{ shard: 1, epoch: 2 }]);
    gate.openShard({ shard: 1, epoch: 2 });
    await pass(clock, EAGER_DELAY_MS - 10, 10);
    assert.is(host.steps.length, 0);
    await pass(clock, 10, 10);
    assert.is(host.steps.length, 32);
    assert.is(lowest(), 1);
    await pass(clock, 100, 10);
    assert.is(host.steps.length, 70);
    assert.is(lowest(), Number.POSITIVE_INFINITY);
    assert.is(gate.recoveredRecords, 0);
  },
);

opening('tries seldom what cannot be activated, and goes on when it can', async () => {
  const { gate, clock, host } = await newScene([...recordsOf('a', [1]), ...recordsOf('b', [1])]);
  await gate.recoverTail('dead', [{ shard: 1, epoch: 2 }]);
  host.isWarmingStuck = true;
  gate.openShard({ shard: 1, epoch: 2 });
  await pass(clock, 2 * EAGER_DELAY_MS, 10);
  const before = host.warmings;
  await pass(clock, 10_000, 10);
  assert.ok(host.warmings - before <= 22, `${host.warmings - before}`);
  host.isWarmingStuck = false;
  await pass(clock, 1_000, 10);
  assert.equal(host.steps, ['warm a', 'warm b']);
});

opening('does nothing once the incarnation has ended', async () => {
  const { gate } = await newScene();
  gate.openShard({ shard: 1, epoch: 1 });
  gate.end();
  assert.is(gate.open.size, 0);
  gate.openShard({ shard: 2, epoch: 1 });
  assert.is(gate.open.size, 0);
});

const closing = suite('closing a shard');

closing('stops intake, then waits for turns, stores and drops, in this order', async () => {
  const { gate, clock, host } = await newScene();
  gate.openShard({ shard: 1, epoch: 1 });
  host.busy = 1;
  const closed = gate.closeShard(1);
  await turnOfEvents();
  assert.not(gate.open.has(1));
  await pass(clock, CLOSE_POLL_MS * 3, 1);
  assert.equal(host.steps, []);
  host.busy = 0;
  await pass(clock, CLOSE_POLL_MS, 1);
  await closed;
  assert.equal(host.steps, ['store 1', 'drop 1']);
});

closing('is known until others may have the shard, or it opens anew', async () => {
  const { gate } = await newScene();
  gate.openShard({ shard: 1, epoch: 1 });
  assert.not(gate.isClosing(1));
  await gate.closeShard(1);
  assert.ok(gate.isClosing(1));
  gate.releasing(1);
  assert.not(gate.isClosing(1));
  gate.openShard({ shard: 1, epoch: 2 });
  await gate.closeShard(1);
  assert.ok(gate.isClosing(1));
  gate.openShard({ shard: 1, epoch: 3 });
  assert.not(gate.isClosing(1));
});

closing('waits for appends in flight before it stores', async () => {
  const { gate, log, host, hold } = await newScene();
  gate.openShard({ shard: 1, epoch: 1 });
  const release = hold();
  log.add(lineOf());
  const closed = gate.closeShard(1);
  await turnOfEvents();
  assert.equal(host.steps, []);
  release();
  await closed;
  assert.equal(host.steps, ['store 1', 'drop 1']);
});

closing('activates every actor that still has recovered records', async () => {
  const { gate, host, clock } = await newScene([...recordsOf('a', [1]), ...recordsOf('b', [1])]);
  await gate.recoverTail('dead', [{ shard: 1, epoch: 2 }]);
  gate.openShard({ shard: 1, epoch: 2 });
  host.isWarmingStuck = true;
  const closed = gate.closeShard(1);
  await pass(clock, 50, 5);
  assert.is(await stateOf(closed), 'pending');
  assert.ok(gate.open.has(1), 'it is served meanwhile');
  host.isWarmingStuck = false;
  await pass(clock, 50, 5);
  await closed;
  assert.equal(host.steps, ['warm a', 'warm b', 'store 1', 'drop 1']);
});

closing('of many shards at once is not taken for a store that is down', async () => {
  const ids = Array.from({ length: 8 }, (_, i) => 'a'.repeat(i + 1));
  const { gate, host, clock } = await newScene(ids.flatMap((id) => recordsOf(id, [1])));
  const claims = ids.map(({ length }) => ({ shard: length, epoch: 2 }));
  await gate.recoverTail('dead', claims);
  for (const claim of claims) gate.openShard(claim);
  host.isWarmingStuck = true;
  const closed = Promise.all(claims.map(({ shard }) => gate.closeShard(shard)));
  await pass(clock, 100, 10);
  host.isWarmingStuck = false;
  await pass(clock, 50, 5);
  assert.is(gate.open.size, 0);
  await closed;
});

closing('does not happen while an actor’s records make no sense, and is tried seldom', async () => {
  const { gate, log, host, clock } = await newScene(recordsOf('a', [1]));
  await gate.recoverTail('dead', [{ shard: 1, epoch: 2 }]);
  host.isWarmingStuck = true;
  gate.openShard({ shard: 1, epoch: 2 });
  const closed = refusalOf(() => gate.closeShard(1));
  await pass(clock, 2 * EAGER_DELAY_MS, 10);
  const before = host.warmings;
  await pass(clock, 10_000, 10);
  assert.ok(host.warmings - before <= 22, `${host.warmings - before}`);
  assert.ok(gate.open.has(1));
  log.end(new Error('fenced'));
  await pass(clock, 2_000, 10);
  assert.is(((await closed) as Fault).code, 'service_unavailable');
});

closing(
  'lets every actor commit its last before anything is stored, and again if it cannot',
  async () => {
    const { gate, host, clock } = await newScene();
    gate.openShard({ shard: 1, epoch: 1 });
    host.isJournalDown = true;
    const closed = gate.closeShard(1);
    await turnOfEvents();
    assert.equal(host.steps, [], 'what could not be committed is not left out');
    await pass(clock, EFFECT_RETRY_MS);
    await closed;
    assert.equal(host.closings, [[], []]);
    assert.equal(host.steps, ['store 1', 'drop 1']);
  },
);

closing('stores until the store takes it, and drops nothing before', async () => {
  const { gate, host, clock } = await newScene();
  gate.openShard({ shard: 1, epoch: 1 });
  host.isStoreDown = true;
  const closed = gate.closeShard(1);
  await pass(clock, EFFECT_RETRY_MS * 5);
  assert.equal(host.steps, []);
  host.isStoreDown = false;
  await pass(clock, EFFECT_RETRY_MS);
  await closed;
  assert.equal(host.steps, ['store 1', 'drop 1']);
});

closing('rejects when the incarnation ends before, and drops nothing', async () => {
  const { gate, host, log, clock } = await newScene();
  gate.openShard({ shard: 1, epoch: 1 });
  host.busy = 1;
  const refused = refusalOf(() => gate.closeShard(1));
  log.end(new Error('fenced'));
  await pass(clock, CLOSE_POLL_MS * 2, 1);
  assert.is(((await refused) as Fault).code, 'service_unavailable');
  assert.equal(host.steps, []);
});

for (const suite of [gates, adopting, opening, closing]) suite.run();
