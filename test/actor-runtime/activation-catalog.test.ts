import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { UNFLUSHED_RECORDS_MAX } from '#actor-runtime/actor-bounds';
import { ONE_SHARD } from '#actor-runtime/actor-host';
import type { ShardGate } from '#actor-runtime/host-ports';
import type { Fault } from '#errors/fault';
import { memoryJournal } from '#storage/memory/meters';
import { linesOf } from '#test/actor-runtime/commit-log/journal-records';
import { ManualClock } from '#test/support/manual-clock';
import { pass } from '#test/support/passing';
import { refusalOf, stateOf, turnOfEvents } from '#test/support/settled';
import { hostOf, SlowJournal, TallyKind, tallyCall } from '#test/support/tally-actor';

/** The first character of an actor's id is its shard. */
const SHARDS: ShardGate = { ...ONE_SHARD, shardOf: (id) => Number(id[0]) };

function newScene(gate: ShardGate = SHARDS, journal = memoryJournal()) {
  const [clock, kind] = [new ManualClock(), new TallyKind()];
  const { host, bugs, log } = hostOf(kind, clock, journal, undefined, gate);
  return { clock, kind, host, bugs, log };
}

const shard = suite('the actors of a shard');

shard('are stored separately from other shards and dropped separately', async () => {
  const { kind, host } = newScene();
  for (const id of ['1a', '1b', '2a']) await host.ask(id, tallyCall({ add: 1 }));
  await host.storeShard(1);
  assert.equal([...kind.stored.keys()], ['1a', '1b']);
  assert.is(host.residency.unflushedRecords, 1);
  host.dropShard(1);
  assert.is(host.residency.actors, 1);
});

shard('are busy while they load, have a turn or have waiting calls', async () => {
  const { host } = newScene();
  const gate = Promise.withResolvers<void>();
  const first = host.ask('1a', tallyCall({ add: 1, wait: gate.promise }));
  assert.equal([host.busyIn(1), host.busyIn(2)], [1, 0]);
  await turnOfEvents();
  const second = host.ask('1a', tallyCall({ add: 1 }));
  assert.is(host.busyIn(1), 1);
  gate.resolve();
  await Promise.all([first, second]);
  assert.is(host.busyIn(1), 0);
});

shard(
  'are neither counted nor stored here after they are dropped with unstored changes',
  async () => {
    const { clock, kind, host } = newScene();
    await host.ask('1a', tallyCall({ add: 1 }));
    host.dropShard(1);
    assert.equal(host.residency, { actors: 0, bytes: 0, unflushedRecords: 0, unflushedBytes: 0 });
    clock.advance(60_000);
    await turnOfEvents();
    assert.is(kind.writes, 0);
  },
);

shard('answer no call if they were still loading when they were dropped', async () => {
  const { host } = newScene();
  const asked = refusalOf(() => host.ask('1a', tallyCall({ add: 1 })));
  host.dropShard(1);
  const { code, reason } = (await asked) as Fault;
  assert.equal([code, reason], ['service_unavailable', 'engine_unavailable']);
  assert.is(host.residency.actors, 0);
});

shard('are not reactivated by calls that were waiting when they were dropped', async () => {
  const { clock, host } = newScene();
  const gate = Promise.withResolvers<void>();
  await host.ask('1a', tallyCall({ add: 1 }));
  const first = Promise.resolve(host.ask('1a', tallyCall({ add: 1, wait: gate.promise })));
  const second = Promise.resolve(host.ask('1a', tallyCall({ add: 1 })));
  host.dropShard(1);
  clock.advance(60_000);
  gate.resolve();
  await Promise.allSettled([first, second]);
  assert.is(host.residency.actors, 0);
});

const last = suite('an actor whose kind commits a closing record before eviction');

last('commits the record, is stored, and leaves memory when no more calls arrive', async () => {
  const { clock, kind, host } = newScene();
  kind.parting = 3;
  await host.ask('1a', tallyCall({ add: 1, callId: 0 }));
  await host.storeShard(1);
  await passSeconds(clock, 65);
  assert.is(host.residency.actors, 0);
  assert.is(kind.stored.get('1a')?.sum, 4);
  assert.is(kind.stored.get('1a')?.version, 2);
});

last('is stored before its checkpoint age, even if 500 actors leave at the same time', async () => {
  const { clock, kind, host } = newScene();
  kind.parting = 3;
  const ids = Array.from({ length: 500 }, (_, i) => `1${i}`);
  await Promise.all(ids.map((id) => host.ask(id, tallyCall({ add: 1, callId: 0 }))));
  await host.storeShard(1);
  await passSeconds(clock, 59);
  assert.is(host.residency.actors, 500);
  await pass(clock, 4_000, 10);
  assert.is(host.residency.actors, 0);
});

/** A host that has stored 50 actors and has memory for 48. */
async function overfull(kind: TallyKind) {
  const clock = new ManualClock();
  const ids = Array.from({ length: 50 }, (_, i) => `1${i}`);
  const config = { idleAgeMs: 60_000, memoryBytesMax: 48 * kind.sizeOf() };
  const { host } = hostOf(kind, clock, memoryJournal(), config, SHARDS);
  await Promise.all(ids.map((id) => host.ask(id, tallyCall({ add: 1, callId: 0 }))));
  await host.storeShard(1);
  return { clock, ids, host };
}

last('is evicted only if the byte budget requires the eviction', async () => {
  const kind = new TallyKind();
  kind.parting = 3;
  const { clock, host } = await overfull(kind);
  await pass(clock, 4_000, 10);
  assert.is(host.residency.actors, 48);
  const parted = [...kind.stored.values()].filter(({ version }) => version === 2);
  assert.is(parted.length, 2);
});

last(
  'commits its closing record only to meet the byte budget, even if the store hangs',
  async () => {
    const kind = new TallyKind();
    kind.parting = 3;
    const store = kind.store.bind(kind);
    let isHanging = false;
    kind.store = (copies) => (isHanging ? new Promise<void>(() => undefined) : store(copies));
    const { clock, ids, host } = await overfull(kind);
    isHanging = true;
    await pass(clock, 10_000, 10);
    const parted = ids.filter((id) => host.readUnconfirmed(id, ({ sum }) => sum) === 4);
    assert.is(parted.length, 2);
    assert.is(host.residency.actors, 50);
  },
);

last('stays unchanged while commits are impossible', async () => {
  const { clock, kind, host, log } = newScene();
  kind.parting = 3;
  await host.ask('1a', tallyCall({ add: 1, callId: 0 }));
  await host.storeShard(1);
  log.end(new Error('fenced'));
  await passSeconds(clock, 65);
  assert.is(host.residency.actors, 1);
  assert.is(kind.stored.get('1a')?.sum, 1);
});

last('commits the record when its shard closes, while actors of other shards do not', async () => {
  const { kind, host } = newScene();
  kind.parting = 3;
  for (const id of ['1a', '2a']) await host.ask(id, tallyCall({ add: 1 }));
  await host.ask('1b', tallyCall({ add: 2 }));
  host.closeShard(1);
  const sums = ['1a', '1b', '2a'].map((id) => host.readUnconfirmed(id, ({ sum }) => sum));
  assert.equal(sums, [4, 2, 1]);
});

/** Moves the clock second by second, and runs all due tasks. */
async function passSeconds(clock: ManualClock, seconds: number): Promise<void> {
  for (let second = 0; second < seconds; second += 1) {
    clock.advance(1_000);
    await turnOfEvents();
  }
}

const recovered = suite('an actor with recovered records');

/** A gate whose recovered tail has versions 1 to 3 of `1a`. */
function gateWithTail(): { gate: ShardGate; taken: string[] } {
  const taken: string[] = [];
  const tail = { lines: linesOf('1a', [1, 2, 3]), offset: 0 };
  return {
    taken,
    gate: {
      ...SHARDS,
      tailOf: (_shard, _actor, id) => (id === '1a' && taken.length === 0 ? tail : undefined),
      activated: (_shard, _actor, id) => void taken.push(id),
    },
  };
}

recovered(
  'replays the records on first use, and then no longer needs the recovered tail',
  async () => {
    const { gate, taken } = gateWithTail();
    const { host } = newScene(gate);
    assert.equal(await host.ask('1a', tallyCall({ add: 1 })), { sum: 4, version: 4, again: false });
    assert.equal(taken, ['1a']);
    assert.is(host.residency.unflushedRecords, 4);
  },
);

recovered('replays the records once on eager activation, and is then dirty', async () => {
  const { gate, taken } = gateWithTail();
  const { host, kind } = newScene(gate);
  host.activateEagerly('1a');
  host.activateEagerly('1a');
  await turnOfEvents();
  assert.equal(taken, ['1a']);
  assert.is(kind.activations, 1);
  await host.storeShard(1);
  assert.is(kind.stored.get('1a')?.sum, 3);
});

recovered('recognises the calls in its records, so that a retry is committed once', async () => {
  const { gate } = gateWithTail();
  const { host } = newScene(gate);
  assert.equal(await host.ask('1a', tallyCall({ callId: 2, add: 1 })), {
    sum: 3,
    version: 3,
    again: true,
  });
});

recovered('keeps the records when its head cannot be read', async () => {
  const { gate, taken } = gateWithTail();
  const { host, kind } = newScene(gate);
  kind.isStoreDown = true;
  await refusalOf(() => host.ask('1a', tallyCall()));
  assert.equal(taken, []);
  kind.isStoreDown = false;
  assert.is((await host.ask('1a', tallyCall())).sum, 3);
});

recovered('keeps the records and reports corruption when a version is missing', async () => {
  const taken: string[] = [];
  const gate: ShardGate = {
    ...SHARDS,
    tailOf: () => ({ lines: linesOf('1a', [1, 3]), offset: 0 }),
    activated: (_shard, _actor, id) => void taken.push(id),
  };
  const { host, bugs } = newScene(gate);
  const refusal = await refusalOf(() => host.ask('1a', tallyCall()));
  assert.equal(
    [refusal.name, refusal.message],
    ['CorruptJournal', 'instance 1a lacks versions 2 to 2'],
  );
  assert.equal([bugs.length, taken.length, host.residency.actors], [1, 0, 0]);
});

const full = suite('when the tail is full');

full('every call is refused immediately until part of the tail is stored', async () => {
  const { host, clock } = newScene();
  const ids = Array.from({ length: 100 }, (_, i) => `1-${i}`);
  for (const id of ids) await host.ask(id, tallyCall({ callId: 0, add: 1 }));
  for (let i = ids.length; i < UNFLUSHED_RECORDS_MAX; i += 1) {
    void host.ask(`1-${i % 100}`, tallyCall({ callId: 0, add: 1 }));
  }
  assert.is(host.residency.unflushedRecords, UNFLUSHED_RECORDS_MAX);
  const refusal = (await refusalOf(() => host.ask('1-1', tallyCall({ add: 1 })))) as Fault;
  assert.equal([refusal.reason, refusal.retryAfterS], ['overloaded', 1]);
  clock.advance(1_000);
  await turnOfEvents();
  assert.ok((await host.ask('1-1', tallyCall({ add: 1 }))).sum > 1);
});

const ended = suite('when the incarnation has ended');

ended('nothing is stored, no sweep runs, and calls are refused', async () => {
  const { clock, kind, host } = newScene();
  await host.ask('1a', tallyCall({ add: 1 }));
  host.abandon();
  clock.advance(120_000);
  await turnOfEvents();
  assert.equal([kind.writes, host.residency.actors], [0, 0]);
  assert.is(
    ((await refusalOf(() => host.ask('1a', tallyCall()))) as Fault).reason,
    'shutting_down',
  );
});

ended(
  'a deferred acknowledgement waits for its append, and is an unknown outcome if it fails',
  async () => {
    const journal = new SlowJournal();
    const [clock, kind] = [new ManualClock(), new TallyKind()];
    const { host } = hostOf(kind, clock, journal, undefined, SHARDS);
    const answer = Promise.resolve(host.ask('1a', tallyCall({ add: 1 })));
    await turnOfEvents();
    host.abandon();
    assert.is(await stateOf(answer), 'pending');
    await journal.fail();
    assert.ok(((await refusalOf(() => answer)) as Fault).isOutcomeUnknown);
  },
);

for (const suite of [shard, last, recovered, full, ended]) suite.run();
