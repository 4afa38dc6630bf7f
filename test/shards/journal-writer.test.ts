import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { encodeGroup } from '#actor-runtime/record-codec';
import { Fault } from '#errors/fault';
import { APPEND_RETRY_MS, UNWRITABLE_RETRY_S } from '#shards/journal-bounds';
import { Fenced, JournalWriter } from '#shards/journal-writer';
import { lineOf } from '#test/actor-runtime/commit-log/journal-records';
import { held, newScene, silence, UNNOTICED_APPENDS } from '#test/shards/journal-writer-fixture';
import { liveHeapBytes } from '#test/support/garbage';
import { ManualClock } from '#test/support/manual-clock';
import { pass } from '#test/support/passing';
import { refusalOf, stateOf, turnOfEvents } from '#test/support/settled';

/** Number of successive appends. */
const APPENDS = 5_000;
/** Maximum heap bytes that the writer may keep for each append. */
const APPEND_BYTES_MAX = 20;

const written = suite('a journal writer whose store answers');

written('writes slot after slot', async () => {
  const { writer, stored, appends, appended, headNow } = await newScene();
  await writer.append([lineOf()], 0);
  await writer.append([], 0);
  assert.equal(
    appends.map(({ slot, lowWaterMark, deleteBelow }) => [slot, lowWaterMark, deleteBelow]),
    [
      [0, 0, undefined],
      [1, 0, undefined],
    ],
  );
  const slots = await stored.readSlots('me', 0, 9);
  assert.equal(new Uint8Array(slots[0]?.records ?? []), new Uint8Array(encodeGroup([lineOf()])));
  assert.is((await headNow())?.next, 2);
  assert.equal(appended, [1, 0]);
});

written('reads the seal after the answer to the write, and waits for that read', async () => {
  const { writer, twists, looks, asked } = await newScene();
  const [write, look] = [held<void>(), held<boolean>()];
  twists.push(write.twist);
  looks.push(look.twist);
  const appended = writer.append([], 0);
  await turnOfEvents();
  assert.equal(asked, ['write 0']);
  write.release();
  await turnOfEvents();
  assert.equal(asked, ['write 0', 'look']);
  assert.is(await stateOf(appended), 'pending');
  look.release();
  await appended;
});

written('writes the next slot while it reads the seal after the previous one', async () => {
  const { writer, looks, asked } = await newScene();
  const look = held<boolean>();
  looks.push(look.twist);
  const first = writer.append([], 0);
  await turnOfEvents();
  const second = writer.append([], 0);
  await turnOfEvents();
  assert.equal(asked, ['write 0', 'look', 'write 1', 'look']);
  assert.equal([await stateOf(first), await stateOf(second)], ['pending', 'pending']);
  look.release();
  await Promise.all([first, second]);
});

written('reads the seal after a slot only when all earlier slots are written', async () => {
  const { writer, twists, asked } = await newScene();
  const write = held<void>();
  twists.push(write.twist);
  const first = writer.append([], 0);
  const second = writer.append([], 0);
  await turnOfEvents();
  assert.equal(asked, ['write 0', 'write 1']);
  assert.equal([await stateOf(first), await stateOf(second)], ['pending', 'pending']);
  write.release();
  await Promise.all([first, second]);
  assert.equal(asked.slice(2), ['look', 'look']);
});

written('keeps no memory of acknowledged slots', async () => {
  const store = { append: async () => undefined, isSealed: async () => false };
  const ports = { store, clock: new ManualClock(), ...UNNOTICED_APPENDS };
  const writer = new JournalWriter('me', ports);
  for (let slot = 0; slot < APPENDS; slot += 1) await writer.append([], slot);
  const before = liveHeapBytes();
  for (let slot = APPENDS; slot < 2 * APPENDS; slot += 1) await writer.append([], slot);
  const left = liveHeapBytes() - before;
  assert.is(writer.takeSlowestMs(), 0);
  assert.ok(left < APPENDS * APPEND_BYTES_MAX, `${left} bytes are left after ${APPENDS} appends`);
});

const sealed = suite('a journal writer whose journal is sealed');

sealed('is fenced by the read of the seal although its slot was written, and stops', async () => {
  const { writer, stored, fences, appends } = await newScene();
  await stored.seal('me');
  const first = await refusalOf(() => writer.append([lineOf()], 0));
  assert.instance(first, Fenced);
  assert.equal([first.name, first.message], ['Fenced', 'the journal is sealed']);
  assert.is(await refusalOf(() => writer.append([lineOf()], 0)), first);
  assert.equal([fences.length, appends.length], [1, 1]);
});

sealed('acknowledges none of the slots in flight', async () => {
  const { writer, stored, looks, fences } = await newScene();
  const look = held<boolean>();
  looks.push(look.twist);
  const both = [writer.append([], 0), writer.append([], 0)].map((each) => refusalOf(() => each));
  await turnOfEvents();
  await stored.seal('me');
  look.release();
  for (const refusal of await Promise.all(both)) assert.instance(refusal, Fenced);
  assert.is(fences.length, 1);
});

const unknown = suite('a journal writer whose store does not answer');

unknown('repeats the write, after a pause, until it has an answer', async () => {
  const { writer, twists, appends, clock, headNow } = await newScene();
  twists.push(
    async () => silence(),
    async (apply) => {
      await apply();
      return silence();
    },
  );
  const appended = writer.append([lineOf()], 0);
  await turnOfEvents();
  assert.is(appends.length, 1);
  assert.is(await stateOf(appended), 'pending');
  await pass(clock, APPEND_RETRY_MS);
  assert.is(appends.length, 2);
  await pass(clock, APPEND_RETRY_MS);
  await appended;
  assert.is(appends.length, 3);
  assert.ok(appends[0] === appends[1] && appends[1] === appends[2]);
  assert.is((await headNow())?.next, 1);
});

unknown('acknowledges no later slot before the write has an answer', async () => {
  const { writer, twists, clock } = await newScene();
  twists.push(async () => silence());
  const first = writer.append([lineOf()], 0);
  const second = writer.append([lineOf()], 0);
  await turnOfEvents();
  assert.equal([await stateOf(first), await stateOf(second)], ['pending', 'pending']);
  await pass(clock, APPEND_RETRY_MS);
  await Promise.all([first, second]);
});

unknown(
  'reads the seal before it repeats the write, so that a sealed writer stops without a write',
  async () => {
    const { writer, twists, stored, fences, clock, appends } = await newScene();
    twists.push(async () => silence());
    const refused = refusalOf(() => writer.append([lineOf()], 0));
    await turnOfEvents();
    await stored.seal('me');
    await pass(clock, APPEND_RETRY_MS);
    assert.instance(await refused, Fenced);
    assert.equal([fences.length, appends.length], [1, 1]);
  },
);

unknown('reads the seal again when a read has no answer', async () => {
  const { writer, looks, asked, clock } = await newScene();
  looks.push(
    async () => silence(),
    async () => silence(),
  );
  const appended = writer.append([lineOf()], 0);
  await pass(clock, APPEND_RETRY_MS);
  assert.is(await stateOf(appended), 'pending');
  await pass(clock, APPEND_RETRY_MS);
  await appended;
  assert.equal(asked, ['write 0', 'look', 'look', 'look']);
});

unknown('ends without another write when it is fenced from outside', async () => {
  const { writer, twists, clock, appends } = await newScene();
  for (let i = 0; i < 50; i += 1) twists.push(async () => silence());
  const refused = refusalOf(() => writer.append([lineOf()], 0));
  await turnOfEvents();
  writer.fence('taken');
  await pass(clock, APPEND_RETRY_MS);
  assert.instance(await refused, Fenced);
  assert.is(appends.length, 1);
});

const ended = suite('a journal writer that is fenced from outside');

ended('sends nothing, and reports the first reason once', async () => {
  const { writer, fences, appends } = await newScene();
  writer.fence('taken');
  writer.fence('again');
  const refusal = await refusalOf(() => writer.append([lineOf()], 0));
  assert.is(refusal.message, 'taken');
  assert.equal([fences, appends], [[refusal], []]);
});

const refused = suite('a journal writer whose append is refused permanently');

refused('is fenced', async () => {
  const { writer, twists, fences, appends } = await newScene();
  twists.push(async () => {
    throw new Fault('internal', 'too large');
  });
  const refusal = (await refusalOf(() => writer.append([lineOf()], 0))) as Fault;
  assert.is(refusal.code, 'service_unavailable');
  assert.equal([fences.length, appends.length], [1, 1]);
});

const slow = suite('the append times of a journal writer');

slow('are reported for each append, in seconds', async () => {
  const { writer, twists, clock, tookS } = await newScene();
  clock.advance(5_000);
  twists.push(async (apply) => {
    clock.advance(500);
    return await apply();
  });
  await writer.append([lineOf()], 0);
  assert.equal(tookS, [0.5]);
});

slow('include the longest append, in flight or ended, since the previous read', async () => {
  const { writer, twists, clock } = await newScene();
  assert.is(writer.takeSlowestMs(), 0);
  const held = Promise.withResolvers<void>();
  twists.push(async (apply) => {
    await held.promise;
    return await apply();
  });
  const appended = writer.append([], 0);
  clock.advance(700);
  assert.is(writer.takeSlowestMs(), 700);
  clock.advance(300);
  held.resolve();
  await appended;
  assert.is(writer.takeSlowestMs(), 1_000);
  assert.is(writer.takeSlowestMs(), 0);
});

slow('are infinite after an attempt without an answer', async () => {
  const { writer, twists, clock } = await newScene();
  twists.push(async () => silence());
  const appended = writer.append([], 0);
  await pass(clock, APPEND_RETRY_MS);
  await appended;
  assert.is(writer.takeSlowestMs(), Number.POSITIVE_INFINITY);
});

const only = suite('a journal writer that is the only writer of its store, after a failed write,');

only('accepts no more records until a write succeeds, and reports this once', async () => {
  const { writer, twists, clock, notices } = await newScene({ isOnlyWriter: true });
  assert.is(writer.refusal(), undefined);
  for (let failures = 0; failures < 3; failures += 1) twists.push(async () => silence());
  const appended = writer.append([], 0);
  await turnOfEvents();
  await pass(clock, APPEND_RETRY_MS);
  const refusal = writer.refusal();
  assert.equal(
    [refusal?.code, refusal?.reason, refusal?.retryAfterS, refusal?.isOutcomeUnknown],
    ['service_unavailable', 'overloaded', UNWRITABLE_RETRY_S, false],
  );
  await pass(clock, 2 * APPEND_RETRY_MS);
  await appended;
  assert.is(writer.refusal(), undefined);
  assert.equal(notices, [
    'the journal cannot be written: all changes are refused until an append succeeds why=no answer',
    'the journal can be written again',
  ]);
});

const several = suite('a journal writer that is one of several writers of its store');
several('accepts records after a failed write, and reports nothing', async () => {
  const { writer, twists, clock, notices } = await newScene();
  twists.push(async () => silence());
  const appended = writer.append([], 0);
  await turnOfEvents();
  assert.is(writer.refusal(), undefined);
  await pass(clock, APPEND_RETRY_MS);
  await appended;
  assert.equal(notices, []);
});

for (const group of [written, sealed, unknown, ended, refused, slow, only, several]) group.run();
