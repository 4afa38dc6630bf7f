import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { readTail } from '#runtime/adoption';
import { ADOPTION_SLOTS } from '#runtime/bounds';
import { CorruptJournal, encodeGroup } from '#runtime/record-codec';
import type { JournalRecord } from '#storage/journal';
import type { JournalStore } from '#storage/journal-store';
import { memoryJournalStore } from '#storage/memory/memory-journal-store';
import { recordOf, recordsOf } from '#test/runtime/journal-records';
import { ManualClock } from '#test/support/manual-clock';
import { refusalOf } from '#test/support/settled';

/** The journal of `dead` with these groups; sealed unless told otherwise. */
async function journalOf(
  groups: readonly (readonly JournalRecord[])[],
  { low, isSealed = true }: { low?: number; isSealed?: boolean } = {},
): Promise<JournalStore> {
  const store = memoryJournalStore(new ManualClock());
  await store.begin('dead', '127.0.0.1:1');
  for (const [slot, group] of groups.entries()) {
    const mark = slot === groups.length - 1 ? low : undefined;
    await store.append({ incarnation: 'dead', slot, records: encodeGroup(group), low: mark });
  }
  if (isSealed) await store.seal('dead');
  return store;
}

const all = () => true;
const isCorrupt = async (read: () => Promise<unknown>, text: RegExp) => {
  const refusal = await refusalOf(read);
  assert.instance(refusal, CorruptJournal);
  assert.match(refusal.message, text);
};

const tail = suite('the tail of a sealed journal');

tail('is every wanted record from low to next, in order', async () => {
  const groups = [
    recordsOf('a', [1]),
    recordsOf('a', [2, 3]),
    recordsOf('b', [1]),
    recordsOf('a', [4]),
  ];
  const store = await journalOf(groups, { low: 1 });
  const read = await readTail(store, 'dead', ({ actorId }) => actorId === 'a');
  assert.equal(
    read.map(({ record }) => record.version),
    [2, 3, 4],
  );
});

tail('is read through all its pages', async () => {
  const count = ADOPTION_SLOTS * 2 + 1;
  const store = await journalOf(Array.from({ length: count }, (_, i) => recordsOf('a', [i + 1])));
  const read = await readTail(store, 'dead', all);
  assert.equal(
    read.map(({ record }) => record.version),
    Array.from({ length: count }, (_, i) => i + 1),
  );
});

tail('gives each record its own size, not the average of its group', async () => {
  const large = recordOf({ operation: 'x'.repeat(100_000) });
  const store = await journalOf([
    [
      large,
      ...recordsOf(
        'b',
        Array.from({ length: 999 }, (_, i) => i + 1),
      ),
    ],
  ]);
  const [first, second] = await readTail(store, 'dead', all);
  assert.ok((first?.bytes ?? 0) > 100_000);
  assert.ok((second?.bytes ?? 0) < 200);
});

const corrupt = suite('a journal that cannot be what it should');

corrupt('is shouted about when a slot is missing, wherever', async () => {
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

corrupt('is shouted about when it is not sealed: more could still come', async () => {
  const store = await journalOf([recordsOf('a', [1])], { isSealed: false });
  await isCorrupt(() => readTail(store, 'dead', all), /not sealed/);
});

corrupt('is shouted about when it is not there', async () => {
  await isCorrupt(() => readTail(memoryJournalStore(new ManualClock()), 'dead', all), /gone/);
});

corrupt('is shouted about when a slot holds no group', async () => {
  const store = await journalOf([recordsOf('a', [1])], { isSealed: false });
  await store.append({ incarnation: 'dead', slot: 1, records: Buffer.from('{'), low: undefined });
  await store.seal('dead');
  await isCorrupt(() => readTail(store, 'dead', all), /JSON/);
});

for (const suite of [tail, corrupt]) suite.run();
