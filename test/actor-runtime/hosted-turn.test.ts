import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { CHECKPOINT_AGE_MS, LEASE_MS } from '#actor-runtime/actor-bounds';
import { Fault } from '#errors/fault';
import { memoryJournal } from '#storage/memory/meters';
import { OnlyJournal } from '#test/actor-runtime/commit-log/commit-log-fixture';
import { ManualClock } from '#test/support/manual-clock';
import { refusalOf, stateOf, turnOfEvents } from '#test/support/settled';
import { hostOf, SlowJournal, TallyKind, tallyCall } from '#test/support/tally-actor';

/** A tally of 1 in memory, with an append that has just succeeded. */
async function newScene() {
  const [clock, journal, kind] = [new ManualClock(), new SlowJournal(), new TallyKind()];
  const { host } = hostOf(kind, clock, journal);
  const first = host.ask('a', tallyCall({ add: 1 }));
  await turnOfEvents();
  await journal.succeed();
  await first;
  return { clock, journal, host };
}

const reads = suite('an answer that adds no record');

reads('is sent from memory immediately under the read lease', async () => {
  const { host } = await newScene();
  assert.equal(host.ask('a', tallyCall()), { sum: 1, version: 1, again: false });
  assert.throws(() => host.ask('a', tallyCall({ refuse: true })), /refused/);
});

reads(
  'waits for a new append after the read lease has ended, even for a refusal or a replay',
  async () => {
    const { clock, journal, host } = await newScene();
    const kept = tallyCall({ add: 5 });
    const done = Promise.resolve(host.ask('a', kept));
    await journal.succeed();
    await done;
    clock.advance(LEASE_MS);
    const answers = [
      Promise.resolve(host.ask('a', tallyCall())),
      refusalOf(() => host.ask('a', tallyCall({ refuse: true }))),
      Promise.resolve(host.ask('a', kept)),
      Promise.resolve(host.ask('absent', tallyCall())),
    ];
    for (const answer of answers) assert.is(await stateOf(answer as Promise<unknown>), 'pending');
    await journal.succeed();
    await turnOfEvents();
    await journal.succeed();
    const [read, refusal, replay] = await Promise.all(
      answers as [Promise<{ sum: number }>, Promise<Error>, Promise<{ again: boolean }>],
    );
    assert.is(read.sum, 6);
    assert.match(refusal.message, /refused/);
    assert.ok(replay.again);
  },
);

const commits = suite('an answer that adds a record');

commits('needs no read lease in addition to its own append', async () => {
  const { clock, journal, host } = await newScene();
  clock.advance(LEASE_MS);
  const answer = Promise.resolve(host.ask('a', tallyCall({ add: 1 })));
  await turnOfEvents();
  await journal.succeed();
  assert.is((await answer).sum, 2);
  assert.is(journal.groups.length, 2);
});

const rests = suite('an answer that depends on only part of the committed records');

rests('is sent when that part is durable, whatever else is in flight', async () => {
  const { journal, host } = await newScene();
  const later = Promise.resolve(host.ask('a', tallyCall({ add: 2 })));
  const early = tallyCall({ dependOn: 1 });
  assert.equal(host.ask('a', early), { sum: 3, version: 2, again: false });
  assert.is(await stateOf(Promise.resolve(host.ask('a', tallyCall({ dependOn: 2 })))), 'pending');
  await journal.succeed();
  assert.is((await later).sum, 3);
});

rests('needs the read lease despite its own commit', async () => {
  const { clock, journal, host } = await newScene();
  const leased = host.ask('a', tallyCall({ add: 2, dependOn: 1 }));
  assert.equal(leased, { sum: 3, version: 2, again: false });
  await journal.succeed();
  await turnOfEvents();
  clock.advance(LEASE_MS);
  const answer = Promise.resolve(host.ask('a', tallyCall({ add: 2, dependOn: 1 })));
  await turnOfEvents();
  assert.is(await stateOf(answer), 'pending');
  await journal.succeed();
  await turnOfEvents();
  await journal.succeed();
  assert.is((await answer).sum, 5);
});

const held = suite('while the journal of an only writer refuses appends');

held(
  'answers that need an append are refused immediately, and other answers are sent',
  async () => {
    const journal = new OnlyJournal();
    const { host } = hostOf(new TallyKind(), new ManualClock(), journal);
    const first = host.ask('a', tallyCall({ add: 1 }));
    await turnOfEvents();
    await journal.succeed();
    await first;
    const underWay = Promise.resolve(host.ask('a', tallyCall({ add: 2 })));
    await turnOfEvents();
    journal.refused = new Fault('service_unavailable', 'the file cannot be written');
    const refused = [tallyCall(), tallyCall({ refuse: true }), tallyCall({ dependOn: 2 })];
    for (const call of refused) {
      assert.is(await refusalOf(async () => await host.ask('a', call)), journal.refused);
    }
    const early = host.ask('a', tallyCall({ dependOn: 1 }));
    assert.equal(early, { sum: 3, version: 2, again: false });
    journal.refused = undefined;
    await journal.succeed();
    assert.is((await underWay).sum, 3);
  },
);

const effects = suite('a turn whose side effect fails after the commit');

effects(
  'is answered with an unknown outcome, without the other actor’s reason and owner',
  async () => {
    const owner = { incarnation: 'x', address: 'x:1', epoch: 3 };
    const failures = [
      new Fault('service_unavailable', 'not mine', { reason: 'not_owner', owner, retryAfterS: 1 }),
      new Error('a bug'),
    ];
    for (const [i, failure] of failures.entries()) {
      const { host } = hostOf(new TallyKind(), new ManualClock(), memoryJournal());
      const effect = () => Promise.reject(failure);
      const refusal = (await refusalOf(() =>
        host.ask('a', tallyCall({ add: 1, effect })),
      )) as Fault;
      assert.is(refusal.code, i === 0 ? 'service_unavailable' : 'internal');
      assert.equal([refusal.isOutcomeUnknown, refusal.owner], [true, undefined]);
      assert.is.not(refusal.reason, 'not_owner');
      assert.is(refusal.cause, failure);
    }
  },
);

effects('is answered when the call is repeated and the side effect succeeds', async () => {
  const { host } = hostOf(new TallyKind(), new ManualClock(), memoryJournal());
  let isDown = true;
  const effect = async () => {
    if (isDown) throw new Fault('service_unavailable', 'down');
  };
  const call = tallyCall({ add: 1, effect });
  await refusalOf(() => host.ask('a', call));
  await refusalOf(() => host.ask('a', call));
  isDown = false;
  assert.equal(await host.ask('a', call), { sum: 1, version: 1, again: true });
});

/** Lets an actor reach the checkpoint age, and runs all tasks of its checkpoint. */
async function age(clock: ManualClock): Promise<void> {
  clock.advance(CHECKPOINT_AGE_MS + 1_000);
  await turnOfEvents();
}

const pending = suite('the pending side effect of a turn');

pending('is completed before the actor is stored; nothing is stored while it fails', async () => {
  const [clock, kind] = [new ManualClock(), new TallyKind()];
  const { host } = hostOf(kind, clock, memoryJournal());
  let isDown = true;
  let attempts = 0;
  const effect = async () => {
    attempts += 1;
    if (isDown) throw new Fault('service_unavailable', 'down');
  };
  await refusalOf(() => host.ask('a', tallyCall({ add: 1, effect })));
  await age(clock);
  assert.equal([attempts > 1, kind.writes], [true, 0]);
  isDown = false;
  await age(clock);
  assert.is(kind.stored.get('a')?.sum, 1);
  const done = attempts;
  await host.ask('a', tallyCall({ add: 1 }));
  await age(clock);
  assert.equal([attempts, kind.stored.get('a')?.sum], [done, 2], 'the effect is no longer pending');
});

pending('is absent after a turn that committed nothing', async () => {
  const [clock, kind] = [new ManualClock(), new TallyKind()];
  const { host } = hostOf(kind, clock, memoryJournal());
  await host.ask('a', tallyCall({ add: 1 }));
  const effect = () => Promise.reject(new Fault('service_unavailable', 'down'));
  await refusalOf(() => host.ask('a', tallyCall({ effect })));
  await age(clock);
  assert.is(kind.stored.get('a')?.sum, 1);
});

pending('is not completed by the effect of an earlier turn', async () => {
  const [clock, kind] = [new ManualClock(), new TallyKind()];
  const { host } = hostOf(kind, clock, memoryJournal());
  const first = Promise.withResolvers<void>();
  await host.ask('a', tallyCall({ add: 1 }));
  const early = Promise.resolve(host.ask('a', tallyCall({ add: 1, effect: () => first.promise })));
  const fails = () => Promise.reject(new Fault('service_unavailable', 'down'));
  const late = refusalOf(() => host.ask('a', tallyCall({ add: 1, effect: fails })));
  first.resolve();
  await Promise.all([early, late]);
  await age(clock);
  assert.is(kind.writes, 0);
});

for (const suite of [reads, commits, rests, held, effects, pending]) suite.run();
