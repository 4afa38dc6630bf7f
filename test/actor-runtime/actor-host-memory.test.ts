import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { CHECKPOINT_AGE_MS } from '#actor-runtime/actor-bounds';
import type { Fault } from '#errors/fault';
import { memoryJournal } from '#storage/memory/meters';
import { ManualClock } from '#test/support/manual-clock';
import { pass } from '#test/support/passing';
import { refusalOf, turnOfEvents } from '#test/support/settled';
import { hostOf, SlowJournal, TallyKind, tallyCall } from '#test/support/tally-actor';

const memory = suite('when the host loads, stores and evicts actors');

memory('a dirty actor is stored after two minutes and not earlier', async () => {
  const clock = new ManualClock();
  const kind = new TallyKind();
  const config = { idleAgeMs: 600_000, memoryBytesMax: 10_000 };
  const { host } = hostOf(kind, clock, memoryJournal(), config);
  await host.ask('a', tallyCall({ add: 1 }));
  clock.advance(CHECKPOINT_AGE_MS - 1_000);
  await turnOfEvents();
  assert.is(kind.writes, 0);
  clock.advance(2_000);
  await turnOfEvents();
  assert.equal(kind.stored.get('a'), { sum: 1, version: 1, recentCalls: [] });
  assert.is(host.residency.unflushedRecords, 0);
});

memory('a state that is not durable is never stored', async () => {
  const clock = new ManualClock();
  const kind = new TallyKind();
  const journal = new SlowJournal();
  const { host } = hostOf(kind, clock, journal);
  const answer = Promise.resolve(host.ask('a', tallyCall({ add: 1 })));
  await turnOfEvents();
  clock.advance(CHECKPOINT_AGE_MS + 2_000);
  await turnOfEvents();
  assert.is(kind.writes, 0);
  await journal.succeed();
  await answer;
  await turnOfEvents();
  assert.is(kind.writes, 1);
});

memory('a failed write is retried and no state is lost', async () => {
  const clock = new ManualClock();
  const kind = new TallyKind();
  const { host } = hostOf(kind, clock, memoryJournal());
  await host.ask('a', tallyCall({ add: 1 }));
  kind.isStoreDown = true;
  clock.advance(CHECKPOINT_AGE_MS + 2_000);
  await turnOfEvents();
  assert.is(host.residency.unflushedRecords, 1);
  kind.isStoreDown = false;
  clock.advance(2_000);
  await turnOfEvents();
  assert.equal(kind.stored.get('a'), { sum: 1, version: 1, recentCalls: [] });
});

memory('an idle actor is stored, evicted, and reloaded unchanged', async () => {
  const clock = new ManualClock();
  const kind = new TallyKind();
  const { host } = hostOf(kind, clock, memoryJournal());
  await host.ask('a', tallyCall({ add: 1 }));
  await pass(clock, 90_000, 1_000);
  assert.is(host.residency.actors, 0);
  assert.equal(await host.ask('a', tallyCall({ add: 1 })), { sum: 2, version: 2, again: false });
  assert.is(kind.activations, 2);
});

memory('the least recently used actors are evicted first, down to the byte budget', async () => {
  const clock = new ManualClock();
  const kind = new TallyKind();
  const config = { idleAgeMs: 600_000, memoryBytesMax: 10_000 };
  const { host } = hostOf(kind, clock, memoryJournal(), config);
  for (const id of ['a', 'b', 'c']) await host.ask(id, tallyCall({ add: 1 }));
  clock.advance(CHECKPOINT_AGE_MS + 1_000);
  await turnOfEvents();
  await host.ask('a', tallyCall());
  config.memoryBytesMax = 2_500;
  clock.advance(1_000);
  await turnOfEvents();
  assert.is(
    host.readUnconfirmed('b', ({ sum }) => sum),
    undefined,
  );
  assert.is(
    host.readUnconfirmed('a', ({ sum }) => sum),
    1,
  );
  assert.is(
    host.readUnconfirmed('c', ({ sum }) => sum),
    1,
  );
});

memory('a pinned actor is not evicted', async () => {
  const clock = new ManualClock();
  const kind = new TallyKind();
  kind.isPinned = true;
  const { host } = hostOf(kind, clock, memoryJournal());
  await host.ask('a', tallyCall({ add: 1 }));
  await pass(clock, 120_000, 1_000);
  assert.is(host.residency.actors, 1);
});

memory('a flood of calls to actors that do not exist leaves nothing in memory', async () => {
  const { host } = hostOf(new TallyKind(), new ManualClock(), memoryJournal());
  for (let i = 0; i < 10_000; i += 1) await host.ask(`unknown-${i}`, tallyCall());
  assert.equal(host.residency, { actors: 0, bytes: 0, unflushedRecords: 0, unflushedBytes: 0 });
});

memory('a failed load refuses every waiting call, and the next call loads again', async () => {
  const kind = new TallyKind();
  kind.isStoreDown = true;
  const { host, bugs } = hostOf(kind, new ManualClock(), memoryJournal());
  const refusals = [1, 2].map(() => refusalOf(() => host.ask('a', tallyCall({ add: 1 }))));
  for (const refusal of await Promise.all(refusals)) assert.match(refusal.message, /store is down/);
  assert.equal(bugs, []);
  kind.isStoreDown = false;
  assert.is((await host.ask('a', tallyCall({ add: 1 }))).sum, 1);
});

const closing = suite('when the process closes');

closing('everything durable is stored and new calls are refused', async () => {
  const kind = new TallyKind();
  const { host } = hostOf(kind, new ManualClock(), memoryJournal());
  for (let i = 0; i < 50; i += 1) await host.ask(`a${i}`, tallyCall({ add: i + 1 }));
  await host[Symbol.asyncDispose]();
  assert.is(kind.stored.size, 50);
  const refusal = (await refusalOf(() => host.ask('a0', tallyCall()))) as Fault;
  assert.is(refusal.reason, 'shutting_down');
});

const gone = suite('an actor that its last turn deleted');

gone('stays in memory until the deletion is stored, then leaves', async () => {
  const clock = new ManualClock();
  const kind = new TallyKind();
  const { host } = hostOf(kind, clock, memoryJournal());
  await host.ask('a', tallyCall({ add: 1 }));
  await host.ask('a', tallyCall({ add: -1 }));
  assert.is(host.residency.actors, 1);
  await pass(clock, 90_000, 1_000);
  assert.is(kind.stored.get('a')?.version, 2);
  assert.equal([host.residency.actors, host.residency.bytes], [0, 0]);
});

gone(
  'continues from the deleted state when a call arrives before the deletion is stored',
  async () => {
    const kind = new TallyKind();
    const { host } = hostOf(kind, new ManualClock(), memoryJournal());
    await host.ask('a', tallyCall({ add: 1 }));
    await host.ask('a', tallyCall({ add: -1 }));
    const answer = await host.ask('a', tallyCall({ add: 2 }));
    assert.equal(answer, { sum: 2, version: 3, again: false });
    assert.is(kind.activations, 1);
  },
);

for (const group of [memory, closing, gone]) group.run();
