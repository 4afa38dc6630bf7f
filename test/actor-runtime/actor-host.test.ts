import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  MAILBOX_CALLS_MAX,
  RECENT_CALLS_AGE_MS,
  RECENT_CALLS_MAX,
} from '#actor-runtime/actor-bounds';
import type { Fault } from '#errors/fault';
import { memoryJournal } from '#storage/memory/meters';
import { ManualClock } from '#test/support/manual-clock';
import { refusalOf, stateOf, turnOfEvents } from '#test/support/settled';
import { hostOf, SlowJournal, TallyKind, tallyCall } from '#test/support/tally-actor';

/** A host whose journal appends end when the test decides. */
function slowHost() {
  const journal = new SlowJournal();
  return { journal, host: hostOf(new TallyKind(), new ManualClock(), journal).host };
}

const idle = suite(
  'when an actor is idle in memory, and its journal makes records durable immediately',
);

idle('a call is answered synchronously', async () => {
  const { host } = hostOf(new TallyKind(), new ManualClock(), memoryJournal());
  await host.ask('a', tallyCall({ add: 2 }));
  const answer = host.ask('a', tallyCall({ add: 3 }));
  assert.not.instance(answer, Promise);
  assert.equal(answer, { sum: 5, version: 2, again: false });
});

idle('a refusal is thrown synchronously', async () => {
  const { host } = hostOf(new TallyKind(), new ManualClock(), memoryJournal());
  await host.ask('a', tallyCall({ add: 2 }));
  assert.throws(() => host.ask('a', tallyCall({ refuse: true })), /refused/);
});

const busy = suite('when an actor is busy');

busy('calls get their turns one at a time, in order of arrival', async () => {
  const { host } = hostOf(new TallyKind(), new ManualClock(), memoryJournal());
  const gate = Promise.withResolvers<void>();
  const calls = [
    tallyCall({ add: 1, wait: gate.promise }),
    tallyCall({ add: 10 }),
    tallyCall({ add: 100 }),
  ];
  const answers = Promise.all(calls.map(async (call) => (await host.ask('a', call)).sum));
  assert.is(await stateOf(answers), 'pending');
  gate.resolve();
  assert.equal(await answers, [1, 11, 111]);
});

busy('the calls of that actor do not delay other actors', async () => {
  const { host } = hostOf(new TallyKind(), new ManualClock(), memoryJournal());
  const held = host.ask('a', tallyCall({ add: 1, wait: new Promise(() => undefined) }));
  assert.is((await host.ask('b', tallyCall({ add: 7 }))).sum, 7);
  assert.is(await stateOf(Promise.resolve(held)), 'pending');
});

busy('a full mailbox refuses a call immediately, without effect', async () => {
  const { host } = hostOf(new TallyKind(), new ManualClock(), memoryJournal());
  const gate = Promise.withResolvers<void>();
  const first = host.ask('a', tallyCall({ add: 1, wait: gate.promise }));
  await turnOfEvents();
  const waiting = Array.from({ length: MAILBOX_CALLS_MAX }, () =>
    host.ask('a', tallyCall({ add: 1 })),
  );
  const refusal = (await refusalOf(() => host.ask('a', tallyCall({ add: 1 })))) as Fault;
  assert.equal([refusal.code, refusal.reason], ['service_unavailable', 'overloaded']);
  gate.resolve();
  await first;
  const last = await waiting.at(-1);
  assert.is(last?.sum, MAILBOX_CALLS_MAX + 1);
});

busy('a call whose deadline passes while it waits is dropped before its turn', async () => {
  const clock = new ManualClock();
  const { host } = hostOf(new TallyKind(), clock, memoryJournal());
  const gate = Promise.withResolvers<void>();
  const first = host.ask('a', tallyCall({ add: 1, wait: gate.promise }));
  const late = refusalOf(() =>
    host.ask('a', tallyCall({ add: 10, deadlineAtMs: clock.wallMs() + 50 })),
  );
  clock.advance(60);
  gate.resolve();
  assert.is(((await late) as Fault).reason, 'deadline_exceeded');
  assert.is((await first).sum, 1);
  assert.is((await host.ask('a', tallyCall())).sum, 1);
});

const durable = suite('while journal appends are slow');

durable('an answer is deferred until its group is durable', async () => {
  const { journal, host } = slowHost();
  const answer = Promise.resolve(host.ask('a', tallyCall({ add: 1 })));
  assert.is(await stateOf(answer), 'pending');
  await journal.succeed();
  assert.is((await answer).sum, 1);
});

durable(
  'a record contains the actor, the version, the call id, the time and the event',
  async () => {
    const journal = new SlowJournal();
    const clock = new ManualClock();
    const { host } = hostOf(new TallyKind(), clock, journal);
    const answer = host.ask('a', tallyCall({ callId: 77, add: 5 }));
    await turnOfEvents();
    const fields = {
      actor: 'instance',
      actorId: 'a',
      version: 1,
      callId: 77,
      atMs: clock.wallMs(),
    };
    assert.equal(journal.groups, [[{ ...fields, event: 5 }]]);
    await journal.succeed();
    await answer;
  },
);

durable('the next turn does not wait, and records gather into one group', async () => {
  const { journal, host } = slowHost();
  const add = async (id: string) => host.ask(id, tallyCall({ add: 1 }));
  const first = add('a');
  await turnOfEvents();
  const answers = [first, ...['b', 'c', 'a'].map(add)];
  assert.equal(
    journal.groups.map((group) => group.length),
    [1],
  );
  await journal.succeed();
  await turnOfEvents();
  assert.equal(
    journal.groups.map((group) => group.length),
    [1, 3],
  );
  await journal.succeed();
  assert.equal(
    (await Promise.all(answers)).map(({ sum }) => sum),
    [1, 1, 1, 2],
  );
});

durable('a read and a refusal wait until the state that they read is durable', async () => {
  const { journal, host } = slowHost();
  const write = Promise.resolve(host.ask('a', tallyCall({ add: 1 })));
  await turnOfEvents();
  const read = Promise.resolve(host.ask('a', tallyCall()));
  const refusal = refusalOf(() => host.ask('a', tallyCall({ refuse: true })));
  assert.is(await stateOf(read), 'pending');
  assert.is(await stateOf(refusal), 'pending');
  await journal.succeed();
  assert.is((await read).sum, 1);
  assert.match((await refusal).message, /refused/);
  assert.is((await write).sum, 1);
});

durable('a read that awaits its own work is not delayed by records committed later', async () => {
  const { journal, host } = slowHost();
  const first = Promise.resolve(host.ask('a', tallyCall({ add: 1 })));
  await journal.succeed();
  await first;
  const stored = Promise.withResolvers<void>();
  const read = Promise.resolve(host.ask('a', tallyCall({ wait: stored.promise })));
  const commit = Promise.resolve(host.ask('a', tallyCall({ add: 1 })));
  stored.resolve();
  await turnOfEvents();
  assert.equal(await stateOf(read), { value: { sum: 1, version: 1, again: false } });
  assert.is(await stateOf(commit), 'pending');
  await journal.succeed();
  assert.is((await commit).sum, 2);
});

durable('an answer does not wait for later groups', async () => {
  const { journal, host } = slowHost();
  const first = Promise.resolve(host.ask('a', tallyCall({ add: 1 })));
  await turnOfEvents();
  const second = Promise.resolve(host.ask('a', tallyCall({ add: 1 })));
  await journal.succeed();
  assert.is((await first).sum, 1);
  assert.is(await stateOf(second), 'pending');
  await journal.succeed();
  assert.is((await second).sum, 2);
});

durable('deferred answers and all later calls are refused when the journal ends', async () => {
  const { journal, host } = slowHost();
  const held = refusalOf(() => host.ask('a', tallyCall({ add: 1 })));
  await turnOfEvents();
  await journal.fail();
  const refusals = [await held, await refusalOf(() => host.ask('a', tallyCall({ add: 1 })))];
  // Records in the append may be durable despite the failure. Later records cannot be.
  assert.equal(
    refusals.map((refusal) => [(refusal as Fault).code, (refusal as Fault).isOutcomeUnknown]),
    [
      ['service_unavailable', true],
      ['service_unavailable', false],
    ],
  );
});

durable('a side effect runs after the record is durable and before the answer', async () => {
  const { journal, host } = slowHost();
  const effectDone = Promise.withResolvers<void>();
  let isEffectBegun = false;
  const effect = () => {
    isEffectBegun = true;
    return effectDone.promise;
  };
  const answer = Promise.resolve(host.ask('a', tallyCall({ add: 1, effect })));
  await turnOfEvents();
  assert.not(isEffectBegun);
  await journal.succeed();
  assert.is(await stateOf(answer), 'pending');
  assert.ok(isEffectBegun);
  effectDone.resolve();
  assert.is((await answer).sum, 1);
});

const retried = suite('when an actor remembers calls to recognise retries');

retried('a repeated call is committed once and answered twice', async () => {
  const { host } = hostOf(new TallyKind(), new ManualClock(), memoryJournal());
  const call = tallyCall({ add: 5 });
  assert.equal(await host.ask('a', call), { sum: 5, version: 1, again: false });
  assert.equal(await host.ask('a', call), { sum: 5, version: 1, again: true });
});

retried('a repeated call waits while the first call is not durable', async () => {
  const { journal, host } = slowHost();
  const call = tallyCall({ add: 5 });
  const first = Promise.resolve(host.ask('a', call));
  await turnOfEvents();
  const second = Promise.resolve(host.ask('a', call));
  assert.is(await stateOf(second), 'pending');
  await journal.succeed();
  assert.is((await first).sum, 5);
  assert.is((await second).sum, 5);
  assert.is(journal.groups.flat().length, 1);
});

retried('a refused call leaves no record and no call id', async () => {
  const { host } = hostOf(new TallyKind(), new ManualClock(), memoryJournal());
  await host.ask('a', tallyCall({ add: 1 }));
  const call = tallyCall({ refuse: true });
  await refusalOf(() => host.ask('a', call));
  assert.equal(await host.ask('a', { ...call, refuse: false, add: 1 }), {
    sum: 2,
    version: 2,
    again: false,
  });
});

retried('a call id is forgotten after 20 s', async () => {
  const clock = new ManualClock();
  const { host } = hostOf(new TallyKind(), clock, memoryJournal());
  const call = tallyCall({ add: 5 });
  await host.ask('a', call);
  clock.advance(RECENT_CALLS_AGE_MS);
  assert.ok((await host.ask('a', call)).again);
  clock.advance(1);
  assert.not((await host.ask('a', call)).again);
});

retried('a call is refused without effect if the actor has no room for its id', async () => {
  const { host } = hostOf(new TallyKind(), new ManualClock(), memoryJournal());
  for (let i = 0; i < RECENT_CALLS_MAX; i += 1) await host.ask('a', tallyCall({ add: 1 }));
  const refusal = (await refusalOf(() => host.ask('a', tallyCall({ add: 1 })))) as Fault;
  assert.is(refusal.reason, 'overloaded');
  assert.is((await host.ask('a', tallyCall())).sum, RECENT_CALLS_MAX);
});

const bug = suite('when the kind has a bug');

bug('the bug is reported and the actor keeps serving', async () => {
  const kind = new TallyKind();
  const { host, bugs } = hostOf(kind, new ManualClock(), memoryJournal());
  await host.ask('a', tallyCall({ add: 1 }));
  const wait = Promise.reject(new TypeError('no such thing'));
  await refusalOf(() => host.ask('a', tallyCall({ wait })));
  assert.is(bugs.length, 1);
  assert.is((await host.ask('a', tallyCall({ add: 1 }))).sum, 2);
});

for (const group of [idle, busy, durable, retried, bug]) group.run();
