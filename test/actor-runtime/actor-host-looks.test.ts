import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { LEASE_MS, RECENT_CALLS_AGE_MS, RECENT_CALLS_MAX } from '#actor-runtime/actor-bounds';
import { ActorHost, ONE_SHARD } from '#actor-runtime/actor-host';
import { CommitLog } from '#actor-runtime/commit-log';
import type { RuntimeMetrics } from '#actor-runtime/runtime-metrics';
import { Fault } from '#errors/fault';
import { memoryJournal } from '#storage/memory/meters';
import { ManualClock } from '#test/support/manual-clock';
import { refusalOf, stateOf, turnOfEvents } from '#test/support/settled';
import {
  hostOf,
  SlowJournal,
  type TallyCall,
  TallyKind,
  tallyCall,
} from '#test/support/tally-actor';

const elsewhere = suite('a call for an actor of a shard that is not open on this node');

elsewhere('is refused without effect, whether or not the actor is in memory', async () => {
  const kind = new TallyKind();
  let isOpen = true;
  const assertOpen = (): void => {
    if (isOpen) return;
    throw new Fault('service_unavailable', 'elsewhere', { reason: 'not_owner', retryAfterS: 1 });
  };
  const gate = { ...ONE_SHARD, assertOpen };
  const { host } = hostOf(kind, new ManualClock(), memoryJournal(), undefined, gate);
  await host.ask('a', tallyCall({ add: 1 }));
  isOpen = false;
  for (const id of ['a', 'b']) {
    const refusal = await refusalOf(() => host.ask(id, tallyCall({ add: 1 })));
    assert.is((refusal as Fault).reason, 'not_owner');
  }
  assert.equal([kind.activations, host.residency.actors], [1, 1]);
  assert.is(
    host.readUnconfirmed('a', ({ sum }) => sum),
    1,
  );
});

const read = suite('a read of an actor between turns');

read('finds nothing when the actor is not in memory, and does not load the actor', async () => {
  const kind = new TallyKind();
  const { host } = hostOf(kind, new ManualClock(), memoryJournal());
  assert.is(await host.read('a', ({ sum }) => sum), undefined);
  assert.is(host.askResident('a', tallyCall()), undefined);
  assert.equal([kind.activations, host.residency.actors], [0, 0]);
  assert.is(host.kind, 'instance');
});

read('returns the committed state only when that state is durable', async () => {
  const journal = new SlowJournal();
  const { host } = hostOf(new TallyKind(), new ManualClock(), journal);
  const write = Promise.resolve(host.ask('a', tallyCall({ add: 5 })));
  await turnOfEvents();
  const seen = host.read('a', ({ sum }) => sum);
  assert.is(await stateOf(seen), 'pending');
  await journal.succeed();
  assert.is(await seen, 5);
  await write;
});

read('is answered from memory under the lease, and waits for an append otherwise', async () => {
  const [clock, journal] = [new ManualClock(), new SlowJournal()];
  const { host } = hostOf(new TallyKind(), clock, journal);
  const write = Promise.resolve(host.ask('a', tallyCall({ add: 5 })));
  await journal.succeed();
  await write;
  assert.is(await host.read('a', ({ sum }) => sum), 5);
  assert.is(journal.groups.length, 1);
  clock.advance(LEASE_MS);
  const seen = host.read('a', ({ sum }) => sum);
  assert.is(await stateOf(seen), 'pending');
  await journal.succeed();
  assert.is(await seen, 5);
  assert.is(journal.groups.length, 2);
});

const resident = suite('a call only for an actor in memory');

resident('gets a turn like any other call', async () => {
  const { host } = hostOf(new TallyKind(), new ManualClock(), memoryJournal());
  await host.ask('a', tallyCall({ add: 5 }));
  const answer = await host.askResident('a', tallyCall({ add: 1 }));
  assert.is(answer?.sum, 6);
});

const eager = suite('an actor that is activated eagerly');

eager('is included in the memory use, and is evicted immediately if it has no state', async () => {
  const kind = new TallyKind();
  kind.stored.set('a', { sum: 1, version: 1, recentCalls: [] });
  const { host } = hostOf(kind, new ManualClock(), memoryJournal());
  for (const id of ['a', 'unknown']) host.activateEagerly(id);
  await turnOfEvents();
  const { actors, bytes, unflushedRecords } = host.residency;
  assert.equal([actors, bytes, unflushedRecords], [1, kind.sizeOf(), 0]);
});

eager('recognises the recent calls in its head for 20 s', async () => {
  const [kind, clock] = [new TallyKind(), new ManualClock()];
  const recentCalls = [{ callId: 7, version: 1, atMs: clock.wallMs() }];
  kind.stored.set('a', { sum: 1, version: 1, recentCalls });
  clock.advance(100_000);
  const { host } = hostOf(kind, clock, memoryJournal());
  host.activateEagerly('a');
  await turnOfEvents();
  clock.advance(RECENT_CALLS_AGE_MS);
  assert.ok((await host.ask('a', tallyCall({ callId: 7, add: 1 }))).again);
  clock.advance(1);
  assert.not((await host.ask('a', tallyCall({ callId: 7, add: 1 }))).again);
});

eager('is evicted like any other actor when no call arrives', async () => {
  const [kind, clock] = [new TallyKind(), new ManualClock()];
  kind.stored.set('a', { sum: 1, version: 1, recentCalls: [] });
  const { host } = hostOf(kind, clock, memoryJournal());
  clock.advance(500_000);
  host.activateEagerly('a');
  await turnOfEvents();
  for (const [seconds, actors] of [
    [59, 1],
    [5, 0],
  ] as const) {
    for (let s = 0; s < seconds; s += 1) {
      clock.advance(1_000);
      await turnOfEvents();
    }
    assert.is(host.residency.actors, actors);
  }
});

const kept = suite('an actor over the byte budget');

kept('stays in memory while one of its calls may be retried', async () => {
  const [kind, clock] = [new TallyKind(), new ManualClock()];
  const config = { idleAgeMs: 600_000, memoryBytesMax: 0 };
  const { host } = hostOf(kind, clock, memoryJournal(), config);
  const call = tallyCall({ add: 1 });
  await host.ask('a', call);
  for (let s = 0; s < RECENT_CALLS_AGE_MS / 1_000; s += 1) {
    clock.advance(1_000);
    await turnOfEvents();
  }
  assert.ok((await host.ask('a', call)).again);
  assert.is(kind.activations, 1);
});

const unnamed = suite('a call without an id');

unnamed('takes no slot among the remembered calls', async () => {
  const { host } = hostOf(new TallyKind(), new ManualClock(), memoryJournal());
  for (let i = 0; i < RECENT_CALLS_MAX; i += 1) await host.ask('a', tallyCall({ add: 1 }));
  await refusalOf(() => host.ask('a', tallyCall({ add: 1 })));
  const more = 10;
  for (let i = 0; i < more; i += 1) await host.ask('a', tallyCall({ callId: 0, add: 1 }));
  assert.is((await host.ask('a', tallyCall())).sum, RECENT_CALLS_MAX + more);
});

const late = suite('the answer to a call');

late('of an asynchronous turn is sent only when the records of the turn are durable', async () => {
  const journal = new SlowJournal();
  const { host } = hostOf(new TallyKind(), new ManualClock(), journal);
  const call = tallyCall({ add: 1, wait: Promise.resolve() });
  const answer = Promise.resolve(host.ask('a', call));
  await turnOfEvents();
  assert.is(await stateOf(answer), 'pending');
  assert.is(journal.groups.flat().length, 1);
  await journal.succeed();
  assert.is((await answer).sum, 1);
});

for (const [how, wait] of [
  ['synchronously', undefined],
  ['asynchronously', Promise.resolve()],
] as const) {
  late(
    `is an error without effect if the journal ends before a refusal thrown ${how} is sent`,
    async () => {
      const journal = new SlowJournal();
      const { host } = hostOf(new TallyKind(), new ManualClock(), journal);
      const commit = refusalOf(() => host.ask('a', tallyCall({ add: 1 })));
      await turnOfEvents();
      const fields = wait === undefined ? { refuse: true } : { refuse: true, wait };
      const refusal = refusalOf(() => host.ask('a', tallyCall(fields)));
      await turnOfEvents();
      await journal.fail();
      const { code, isOutcomeUnknown } = (await refusal) as Fault;
      assert.equal([code, isOutcomeUnknown], ['service_unavailable', false]);
      assert.ok(((await commit) as Fault).isOutcomeUnknown);
    },
  );
}

late(
  'is sent at exactly the deadline of the call, and is an error after the deadline',
  async () => {
    const clock = new ManualClock();
    const { host } = hostOf(new TallyKind(), clock, memoryJournal());
    await host.ask('a', tallyCall({ add: 1 }));
    assert.is((await host.ask('a', tallyCall({ deadlineAtMs: clock.wallMs() }))).sum, 1);
    const past = tallyCall({ deadlineAtMs: clock.wallMs() - 1 });
    const refusal = (await refusalOf(() => host.ask('a', past))) as Fault;
    assert.is(refusal.reason, 'deadline_exceeded');
  },
);

const ahead = suite('the actors of a shard before a handoff');

ahead('are stored while they keep serving calls', async () => {
  const kind = new TallyKind();
  const { host } = hostOf(kind, new ManualClock(), memoryJournal());
  await host.ask('a', tallyCall({ add: 2 }));
  await host.storeAhead(0);
  assert.is(kind.stored.get('a')?.sum, 2);
  assert.is((await host.ask('a', tallyCall({ add: 1 }))).sum, 3);
});

/** A kind that throws an unexpected error before its first await. */
class BrokenKind extends TallyKind {
  override receive(...given: Parameters<TallyKind['receive']>) {
    if (given[1].add === 13) throw new TypeError('no such thing');
    return super.receive(...given);
  }
}

const bugs = suite('an error that a turn throws');

bugs('is reported if it is not a `Fault`, and only then', async () => {
  const { host, bugs: found } = hostOf(new BrokenKind(), new ManualClock(), memoryJournal());
  await host.ask('a', tallyCall({ add: 1 }));
  await refusalOf(() => host.ask('a', tallyCall({ refuse: true })));
  const wait = Promise.resolve();
  await refusalOf(() => host.ask('a', tallyCall({ refuse: true, wait })));
  assert.equal(found, []);
  assert.instance(await refusalOf(() => host.ask('a', tallyCall({ add: 13 }))), TypeError);
  assert.is(found.length, 1);
});

const times = suite('the waiting times of calls');

times('are reported in seconds, for the load of the actor and for earlier turns', async () => {
  const [clock, kind] = [new ManualClock(), new TallyKind()];
  const loaded = Promise.withResolvers<void>();
  const activate = kind.activate.bind(kind);
  kind.activate = async (id) => {
    await loaded.promise;
    return await activate(id);
  };
  const reported: (readonly [string, number])[] = [];
  const nothing = (): void => undefined;
  const metrics: RuntimeMetrics = {
    activated: (seconds) => reported.push(['activated', seconds]),
    mailboxWaited: (seconds) => reported.push(['waited', seconds]),
    checkpointed: nothing,
    checkpointFailed: nothing,
    resident: nothing,
  };
  const log = new CommitLog(memoryJournal(), clock);
  const config = { idleAgeMs: 60_000, memoryBytesMax: 1_000_000 };
  const ports = { clock, log, gate: ONE_SHARD, metrics, onBug: nothing };
  const host = new ActorHost<{ sum: number; unstored: number[] }, TallyCall, unknown, number>(
    kind,
    config,
    ports,
  );
  clock.advance(5_000);
  const first = host.ask('a', tallyCall({ add: 1 }));
  clock.advance(250);
  const second = host.ask('a', tallyCall({ add: 1 }));
  clock.advance(250);
  loaded.resolve();
  await Promise.all([first, second]);
  assert.equal(reported, [
    ['activated', 0.5],
    ['waited', 0.5],
    ['waited', 0.25],
  ]);
});

for (const group of [elsewhere, read, resident, eager, kept, unnamed]) group.run();
for (const group of [late, ahead, bugs, times]) group.run();
