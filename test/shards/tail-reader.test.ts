import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { CorruptJournal, decodeRecord } from '#actor-runtime/record-codec';
import {
  TAIL_READ_SLOTS_MAX,
  TAIL_READ_SLOTS_MIN,
  TAIL_READS_IN_FLIGHT_MAX,
} from '#shards/journal-bounds';
import { readTail, type TailRecord } from '#shards/tail-recovery';
import type { JournalRecord, JournalStore } from '#storage/ports/journal';
import {
  groupOf,
  lineOf,
  recordOf,
  recordsOf,
} from '#test/actor-runtime/commit-log/journal-records';
import { appendOf, truncating } from '#test/storage/contracts/journal-fixture';
import { memoryJournalStore } from '#test/storage/memory/journal-store';
import { ManualClock } from '#test/support/manual-clock';
import { refusalOf } from '#test/support/settled';

/** The journal of `dead` with the given groups. By default, the journal is sealed. */
async function journalOf(
  groups: readonly (readonly JournalRecord[])[],
  { lowWaterMark = 0, isSealed = true }: { lowWaterMark?: number; isSealed?: boolean } = {},
): Promise<JournalStore> {
  const store = memoryJournalStore(new ManualClock());
  await store.begin('dead', '127.0.0.1:1');
  for (const [slot, group] of groups.entries()) {
    const append = appendOf('dead', slot, groupOf(group));
    const isLast = slot === groups.length - 1;
    await store.append(isLast ? truncating(append, lowWaterMark) : append);
  }
  if (isSealed) await store.seal('dead');
  return store;
}

const all = () => true;
const versionsOf = (tail: readonly TailRecord[]) =>
  tail.map(({ line }) => decodeRecord(line).version);
const isCorrupt = async (read: () => Promise<unknown>, text: RegExp) => {
  const refusal = await refusalOf(read);
  assert.instance(refusal, CorruptJournal);
  assert.match(refusal.message, text);
};

const tail = suite('the tail of a sealed journal');

tail('contains every wanted record from the low-water mark to the end, in order', async () => {
  const groups = [
    recordsOf('a', [1]),
    recordsOf('a', [2, 3]),
    recordsOf('b', [1]),
    recordsOf('a', [4]),
  ];
  const store = await journalOf(groups, { lowWaterMark: 1 });
  const read = await readTail(store, 'dead', (actorId) => actorId === 'a');
  assert.equal(versionsOf(read), [2, 3, 4]);
});

/**
 * A store that records the number of slots of each read, and refuses reads for which `isRefused`
 * holds.
 */
function watched(store: JournalStore, isRefused: (count: number, nth: number) => boolean) {
  const counts: number[] = [];
  const readSlots: JournalStore['readSlots'] = (incarnation, from, to) => {
    const nth = counts.push(to - from);
    if (isRefused(to - from, nth)) return Promise.reject(new Error('too much for one answer'));
    return store.readSlots(incarnation, from, to);
  };
  return { counts, store: { ...store, readSlots } };
}

const never = () => false;

/** `count` groups of one record with an event of `characters` characters, and their versions. */
function manyGroups(count: number, characters: number) {
  const versions = Array.from({ length: count }, (_, i) => i + 1);
  const event = 'x'.repeat(characters);
  return { versions, groups: versions.map((version) => [recordOf({ version, event })]) };
}

tail('is read through all its pages, which grow while the slots are small', async () => {
  const { versions, groups } = manyGroups(TAIL_READ_SLOTS_MAX * 6 + 1, 1);
  const { counts, store } = watched(await journalOf(groups), never);
  const read = await readTail(store, 'dead', all);
  assert.equal(versionsOf(read), versions);
  assert.is(counts[0], TAIL_READ_SLOTS_MIN);
  assert.is(Math.max(...counts), TAIL_READ_SLOTS_MAX);
  assert.ok(counts.length < 25, `${counts.length} reads`);
});

tail('is read in small pages again if its groups are large', async () => {
  const small = manyGroups(TAIL_READ_SLOTS_MIN * 8, 1).groups;
  const large = manyGroups(TAIL_READ_SLOTS_MIN * 24, 40_000).groups;
  const { counts, store } = watched(await journalOf([...small, ...large]), never);
  assert.is((await readTail(store, 'dead', all)).length, small.length + large.length);
  assert.ok(Math.max(...counts) > TAIL_READ_SLOTS_MIN);
  assert.is(counts.at(-2), TAIL_READ_SLOTS_MIN);
});

tail('is read in small pages if the store cannot return more in one answer', async () => {
  const { versions, groups } = manyGroups(TAIL_READ_SLOTS_MIN * 40 + 7, 1);
  const isLarge = (count: number) => count > TAIL_READ_SLOTS_MIN * 2;
  const { counts, store } = watched(await journalOf(groups), isLarge);
  const read = await readTail(store, 'dead', all);
  assert.equal(versionsOf(read), versions);
  // Only the reads that were in flight together fail.
  const refused = counts.filter(isLarge).length;
  assert.ok(refused > 0 && refused <= TAIL_READS_IN_FLIGHT_MAX, `${refused} refused`);
});

tail(
  'is given up when the store is unreachable, after at most one smaller read per refused read',
  async () => {
    const { groups } = manyGroups(TAIL_READ_SLOTS_MAX * 8, 1);
    const gone = 14;
    const { counts, store } = watched(await journalOf(groups), (_count, nth) => nth > gone);
    const refusal = await refusalOf(() => readTail(store, 'dead', all));
    assert.match(refusal.message, /too much/);
    assert.ok((counts[gone] ?? 0) > TAIL_READ_SLOTS_MIN, 'the first refused read is a large read');
    assert.ok(counts.length <= gone + 2 * TAIL_READS_IN_FLIGHT_MAX, `${counts.length} reads`);
  },
);

tail('is copied byte for byte, without decoding and encoding', async () => {
  const lines = ['["instance","a",1,1,0,{"spelled" : 1.0}]', '["meter","b",7,0,0,[]]'];
  const store = await journalOf([], { isSealed: false });
  const records = Buffer.from(`[1,[\n${lines.join(',\n')}\n]]`);
  await store.append(appendOf('dead', 0, records));
  await store.seal('dead');
  assert.equal(await readTail(store, 'dead', all), [
    { actor: 'instance', actorId: 'a', line: lines[0] },
    { actor: 'meter', actorId: 'b', line: lines[1] },
  ]);
});

const corrupt = suite('reading a journal');

corrupt('fails when any slot is missing', async () => {
  for (const missing of [0, 1, 2]) {
    const store = await journalOf([recordsOf('a', [1]), recordsOf('a', [2]), recordsOf('a', [3])]);
    const holed: JournalStore = {
      ...store,
      readSlots: async (...range) =>
        (await store.readSlots(...range)).filter(({ slot }) => slot !== missing),
    };
    await isCorrupt(() => readTail(holed, 'dead', all), /lacks slots/);
  }
});

corrupt('fails when the store returns a slot with a wrong number', async () => {
  for (const [wrong, instead] of [
    [1, 0],
    [2, 1],
  ]) {
    const store = await journalOf([recordsOf('a', [1]), recordsOf('a', [2]), recordsOf('a', [3])]);
    const mixed: JournalStore = {
      ...store,
      readSlots: async (...range) => {
        const slots = await store.readSlots(...range);
        return slots.map((slot) =>
          slot.slot === wrong ? (slots.find((other) => other.slot === instead) ?? slot) : slot,
        );
      },
    };
    await isCorrupt(() => readTail(mixed, 'dead', all), /lacks slots in 0 to 2$/);
  }
});

corrupt('fails when the journal is not sealed and could still grow', async () => {
  const store = await journalOf([recordsOf('a', [1])], { isSealed: false });
  await isCorrupt(() => readTail(store, 'dead', all), /not sealed/);
});

corrupt('fails when the journal does not exist', async () => {
  await isCorrupt(
    () => readTail(memoryJournalStore(new ManualClock()), 'dead', all),
    /does not exist any more/,
  );
});

corrupt('fails when a slot is not a group', async () => {
  const store = await journalOf([recordsOf('a', [1])], { isSealed: false });
  await store.append(appendOf('dead', 1, Buffer.from('{')));
  await store.seal('dead');
  await isCorrupt(() => readTail(store, 'dead', all), /JSON/);
});

corrupt('fails when a record has no actor', async () => {
  const store = await journalOf([recordsOf('a', [1])], { isSealed: false });
  const records = Buffer.from(`[1,[\n${lineOf()},\n{"actor":"instance"}\n]]`);
  await store.append(appendOf('dead', 1, records));
  await store.seal('dead');
  await isCorrupt(() => readTail(store, 'dead', all), /not a record/);
});

for (const suite of [tail, corrupt]) suite.run();
