import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { ActorHost, ONE_SHARD } from '#actor-runtime/actor-host';
import { CommitLog } from '#actor-runtime/commit-log';
import { type RuntimeMetrics, runtimeMetrics } from '#actor-runtime/runtime-metrics';
import { memoryJournal } from '#storage/memory/meters';
import { createMetrics } from '#telemetry/metrics';
import { ManualClock } from '#test/support/manual-clock';
import { pass } from '#test/support/passing';
import { turnOfEvents } from '#test/support/settled';
import { type Tally, TallyKind, tallyCall } from '#test/support/tally-actor';

const IDLE_AGE_MS = 60_000;

/** Kind of tallies whose size depends on their unstored records. */
class WeighedKind extends TallyKind {
  /** A tally with this sum is pinned in memory. */
  pinnedSum: number | undefined;

  override sizeOf(state?: Tally): number {
    return 1_000 + 10 * (state?.unstored.length ?? 0);
  }

  override isEvictable(state?: Tally): boolean {
    return state?.sum !== this.pinnedSum;
  }
}

/** A host with memory for `room` tallies. `reported` collects its reports about memory. */
function newScene({ room = 1_000_000, kind = new WeighedKind() } = {}) {
  const clock = new ManualClock();
  const bugs: unknown[] = [];
  const reported: Parameters<RuntimeMetrics['resident']>[0][] = [];
  const metrics = runtimeMetrics(createMetrics(), 'engine', 'instance');
  const config = { idleAgeMs: IDLE_AGE_MS, memoryBytesMax: room * kind.sizeOf() };
  const host = new ActorHost(kind, config, {
    clock,
    log: new CommitLog(memoryJournal(), clock),
    gate: { ...ONE_SHARD, shardOf: (id) => Number(id[0]) },
    metrics: { ...metrics, resident: (residency) => reported.push(residency) },
    onBug: (bug) => bugs.push(bug),
  });
  return {
    clock,
    kind,
    host,
    bugs,
    reported,
    /** Stores tallies with this sum, and loads them into memory by calls that change nothing. */
    async load(ids: readonly string[], sum = 1) {
      for (const id of ids) kind.stored.set(id, { sum, version: 1, recentCalls: [] });
      await Promise.all(ids.map((id) => host.ask(id, tallyCall())));
    },
    isHere: (id: string) => host.readUnconfirmed(id, () => true) === true,
    async seconds(count: number) {
      await pass(clock, count * 1_000, 1_000);
    },
  };
}

const named = (count: number, prefix = '1'): string[] =>
  Array.from({ length: count }, (_, i) => `${prefix}${i}`);

const used = suite('an actor in memory');

used('stays while it is called within the idle age', async () => {
  const { kind, host, load, seconds } = newScene();
  await load(['1a']);
  for (let minutes = 0; minutes < 5; minutes += 1) {
    await seconds(55);
    await host.ask('1a', tallyCall());
  }
  assert.is(kind.activations, 1);
});

used('stays while it has a turn, however long the turn takes', async () => {
  const { kind, host, load, isHere, seconds } = newScene();
  await load(['1a']);
  const gate = Promise.withResolvers<void>();
  const answer = host.ask('1a', tallyCall({ wait: gate.promise, add: 1 }));
  await seconds(130);
  assert.ok(isHere('1a'));
  gate.resolve();
  assert.is((await answer).sum, 2);
  assert.is((await host.ask('1a', tallyCall({ add: 1 }))).sum, 3);
  assert.is(kind.activations, 1);
});

used('has a smaller size after it is stored', async () => {
  const { host } = newScene();
  for (let i = 0; i < 3; i += 1) await host.ask('1a', tallyCall({ add: 1 }));
  assert.is(host.residency.bytes, 1_030);
  await host.storeShard(1);
  assert.is(host.residency.bytes, 1_000);
});

used('is evicted even if its kind has no closing record', async () => {
  const kind = Object.assign(new WeighedKind(), { closing: undefined });
  const { host, bugs, load, seconds } = newScene({ kind });
  await load(['1a']);
  await seconds(62);
  assert.equal([host.residency.actors, bugs], [0, []]);
});

used('gets a closing record with the time of eviction from its kind', async () => {
  const { clock, kind, load, seconds } = newScene();
  const times: unknown[] = [];
  kind.closing = (...[, now]: unknown[]) => void times.push(now);
  await load(['1a']);
  await seconds(61);
  assert.equal(times, [{ monotonicMs: clock.monotonicMs(), wallMs: clock.wallMs() }]);
});

used('is evicted at its idle age even if 3,000 other actors are pinned', async () => {
  const { kind, load, isHere, seconds } = newScene();
  kind.pinnedSum = 7;
  await load(named(3_000), 7);
  await load(['2a']);
  await seconds(64);
  assert.not.ok(isHere('2a'));
});

const crowded = suite('when actors exceed the byte budget');

crowded(
  'actors whose calls may be retried stay, and the next oldest actors are evicted',
  async () => {
    const { host, load, isHere, seconds } = newScene({ room: 48 });
    for (const id of ['1a', '1b']) await host.ask(id, tallyCall({ add: 1 }));
    await host.storeShard(1);
    await seconds(5);
    await load(named(48, '2'));
    await seconds(1);
    assert.is(host.residency.actors, 48);
    assert.ok(isHere('1a') && isHere('1b'));
  },
);

crowded('actors whose calls may be retried are evicted 20 s after the last call', async () => {
  const { host, load, isHere, seconds } = newScene({ room: 48 });
  await host.ask('1a', tallyCall({ add: 1 }));
  await seconds(10);
  await host.storeShard(1);
  await load(named(48, '2'));
  for (const id of named(48, '2')) await host.ask(id, tallyCall({ add: 1 }));
  await seconds(10);
  assert.ok(isHere('1a'));
  await seconds(1);
  assert.not.ok(isHere('1a'));
});

crowded('pinned actors stay, and the next oldest actors are evicted', async () => {
  const { kind, host, load, isHere, seconds } = newScene({ room: 48 });
  kind.pinnedSum = 7;
  await load(['1a', '1b'], 7);
  await load(named(48, '2'));
  await seconds(1);
  assert.is(host.residency.actors, 48);
  assert.ok(isHere('1a') && isHere('1b'));
});

const shard = suite('a shard that closes');

shard('stores its own actors, and no actor of other shards', async () => {
  const { kind, host } = newScene();
  for (const id of ['1a', '2a']) await host.ask(id, tallyCall({ add: 1 }));
  await host.storeAhead(1);
  assert.equal([...kind.stored.keys()], ['1a']);
});

shard('has its actors commit their closing records while another actor is loading', async () => {
  const { kind, host } = newScene();
  kind.parting = 3;
  await host.ask('1a', tallyCall({ add: 1 }));
  const loading = host.ask('1b', tallyCall({ add: 1 }));
  host.closeShard(1);
  const said = host.readUnconfirmed('1a', (state) => state?.sum);
  assert.is(said, 4);
  assert.is((await loading).sum, 1);
});

shard(
  'has one activation per actor after it reopens, even if an earlier load ends late',
  async () => {
    const { kind, host } = newScene();
    const activate = kind.activate.bind(kind);
    const slow = Promise.withResolvers<void>();
    kind.activate = async (id) => {
      if (kind.activations === 0) {
        kind.activations += 1;
        await slow.promise;
      }
      return await activate(id);
    };
    const first = Promise.resolve(host.ask('1a', tallyCall({ add: 1 })));
    first.catch(() => undefined);
    host.dropShard(1);
    assert.is((await host.ask('1a', tallyCall({ add: 1 }))).sum, 1);
    slow.resolve();
    await turnOfEvents();
    assert.is((await host.ask('1a', tallyCall({ add: 1 }))).sum, 2);
    assert.is(host.residency.actors, 1);
  },
);

const reports = suite('the memory use of a host');

reports('is reported every second, until the host ends', async () => {
  for (const end of ['abandoned', 'closed'] as const) {
    const { host, reported, seconds } = newScene();
    await host.ask('1a', tallyCall({ add: 1 }));
    await seconds(3);
    assert.is(reported.length, 3);
    assert.equal(reported[0], {
      actors: 1,
      bytes: 1_010,
      unflushedRecords: 1,
      unflushedBytes: 100,
    });
    if (end === 'abandoned') host.abandon();
    else await host[Symbol.asyncDispose]();
    await seconds(5);
    assert.is(reported.length, 3, end);
  }
});

for (const group of [used, crowded, shard, reports]) group.run();
