import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import type { Test } from 'uvu';
import * as assert from 'uvu/assert';
import { Fault } from '#errors/fault';
import type { Conditional } from '#storage/ports/journal';
import { journalEnds } from '#test/storage/contracts/journal-ends';
import {
  ADDRESS,
  APPLIED,
  appendMany,
  appendOf,
  begun,
  listed,
  newIncarnation,
  recordsOf,
  type JournalSubject as Subject,
  slotNumbers,
  slotsOf,
  truncating,
} from '#test/storage/contracts/journal-fixture';
import { arbitrarySteps, JournalModel, play } from '#test/storage/contracts/journal-model';

/** Maximum bytes of a group. Source: architecture 3.1. */
const GROUP_BYTES_MAX = 512 * 1_024;

/** Contract tests of the JournalStore port. */
export function journalStoreContract(subject: Subject): Test[] {
  return [
    beginning(subject),
    appending(subject),
    truncations(subject),
    readingSlots(subject),
    ...journalEnds(subject),
    histories(subject),
  ];
}

function beginning({ name, open, suite }: Subject): Test {
  const beginning = suite(`beginning a journal in ${name}`);

  beginning('creates a head with slot 0 as the next slot and without a seal', async () => {
    const store = await open();
    const incarnation = newIncarnation();
    assert.equal(await store.begin(incarnation, ADDRESS), APPLIED);
    const head = { address: ADDRESS, next: 0, lowWaterMark: 0, isSealed: false };
    assert.equal(await store.readHead(incarnation, 'serial'), head);
    assert.equal(await store.readHead(incarnation, 'quorum'), head);
    assert.equal(await store.readSlots(incarnation, 0, 10), []);
  });

  beginning('happens once: a repetition is refused with the first head', async () => {
    const { store, incarnation } = await begun(open);
    const again = await store.begin(incarnation, '127.0.0.1:9999');
    const head = { address: ADDRESS, next: 0, lowWaterMark: 0, isSealed: false };
    assert.equal(again, { isApplied: false, head });
    assert.equal(await store.readHead(incarnation, 'serial'), head);
  });

  beginning('is also refused if the journal has slots or is sealed', async () => {
    const { store, incarnation } = await begun(open);
    await appendMany(store, incarnation, 3);
    await store.seal(incarnation);
    const again = await store.begin(incarnation, '127.0.0.1:9999');
    const head = { address: ADDRESS, next: 3, lowWaterMark: 0, isSealed: true };
    assert.equal(again, { isApplied: false, head });
  });

  beginning('comes first: without a begin, there is no head, seal or list entry', async () => {
    const store = await open();
    const incarnation = newIncarnation();
    const refused: Conditional = { isApplied: false, head: undefined };
    assert.equal(await store.seal(incarnation), refused);
    assert.not(await store.isSealed(incarnation));
    await store.empty(incarnation);
    assert.is(await store.readHead(incarnation, 'serial'), undefined);
    assert.is(await store.readHead(incarnation, 'quorum'), undefined);
    assert.equal(await store.readSlots(incarnation, 0, 10), []);
    assert.is(await listed(store, incarnation), undefined);
  });
  return beginning;
}

function appending({ name, open, suite }: Subject): Test {
  const appending = suite(`appending to a journal in ${name}`);

  appending('writes one slot after the other and keeps every byte', async () => {
    const { store, incarnation } = await begun(open);
    const groups = [randomBytes(100), new Uint8Array(0), Uint8Array.of(0, 255, 128)];
    for (const [slot, records] of groups.entries()) {
      await store.append(appendOf(incarnation, slot, records));
    }
    const slots = groups.map((records, slot) => ({ slot, records: new Uint8Array(records) }));
    assert.equal(await slotsOf(store, incarnation), slots);
    assert.is((await store.readHead(incarnation, 'serial'))?.next, 3);
  });

  appending('accepts a group of maximum size', async () => {
    const { store, incarnation } = await begun(open);
    const records = new Uint8Array(randomBytes(GROUP_BYTES_MAX));
    await store.append(appendOf(incarnation, 0, records));
    assert.equal(await slotsOf(store, incarnation), [{ slot: 0, records }]);
  });

  appending('accepts concurrent slots in any order', async () => {
    const { store, incarnation } = await begun(open);
    await Promise.all([2, 0, 3, 1].map((slot) => store.append(appendOf(incarnation, slot))));
    assert.equal(slotNumbers(await slotsOf(store, incarnation)), [0, 1, 2, 3]);
    assert.is((await store.readHead(incarnation, 'quorum'))?.next, 4);
  });

  appending('changes nothing when it is repeated, however late', async () => {
    const { store, incarnation } = await begun(open);
    await appendMany(store, incarnation, 3);
    const before = await slotsOf(store, incarnation);
    for (const slot of [1, 0, 2, 0]) await store.append(appendOf(incarnation, slot));
    assert.equal(await slotsOf(store, incarnation), before);
    assert.is((await store.readHead(incarnation, 'serial'))?.next, 3);
  });

  appending('copies the bytes, so that they are not shared with the caller', async () => {
    const { store, incarnation } = await begun(open);
    const records = Uint8Array.of(1, 2, 3);
    await store.append(appendOf(incarnation, 0, records));
    records.fill(7);
    const [read] = await store.readSlots(incarnation, 0, 1);
    read?.records.fill(8);
    const expected = [{ slot: 0, records: Uint8Array.of(1, 2, 3) }];
    assert.equal(await slotsOf(store, incarnation), expected);
  });

  appending('leaves other journals unchanged', async () => {
    const { store, incarnation } = await begun(open);
    const other = newIncarnation();
    await store.begin(other, ADDRESS);
    await store.append(appendOf(incarnation, 0));
    assert.equal(await slotsOf(store, other), []);
    assert.is((await store.readHead(other, 'serial'))?.next, 0);
  });
  return appending;
}

function truncations({ name, open, suite }: Subject): Test {
  const truncation = suite(`truncating a journal in ${name}`);

  truncation('deletes the slots below the low-water mark and keeps the others', async () => {
    const { store, incarnation } = await begun(open);
    await appendMany(store, incarnation, 5);
    await store.append(truncating(appendOf(incarnation, 5), 3));
    const head = { address: ADDRESS, next: 6, lowWaterMark: 3, isSealed: false };
    assert.equal(await store.readHead(incarnation, 'serial'), head);
    assert.equal(slotNumbers(await slotsOf(store, incarnation)), [3, 4, 5]);
  });

  truncation('requires `deleteBelow`: the low-water mark alone deletes nothing', async () => {
    const { store, incarnation } = await begun(open);
    await appendMany(store, incarnation, 2);
    await store.append({ ...appendOf(incarnation, 2), lowWaterMark: 2 });
    assert.is((await store.readHead(incarnation, 'serial'))?.lowWaterMark, 2);
    assert.equal(slotNumbers(await slotsOf(store, incarnation)), [0, 1, 2]);
  });

  truncation('is permanent: late slots below the mark stay deleted', async () => {
    const { store, incarnation } = await begun(open);
    await appendMany(store, incarnation, 4);
    await store.append(truncating(appendOf(incarnation, 4), 4));
    for (const slot of [0, 3]) await store.append(appendOf(incarnation, slot));
    assert.equal(slotNumbers(await slotsOf(store, incarnation)), [4]);
    assert.is((await store.readHead(incarnation, 'quorum'))?.lowWaterMark, 4);
  });

  truncation('may reach the newest slot, which stays', async () => {
    const { store, incarnation } = await begun(open);
    await appendMany(store, incarnation, 4);
    const records = Uint8Array.of(42);
    await store.append(truncating(appendOf(incarnation, 4, records), 4));
    assert.equal(await slotsOf(store, incarnation), [{ slot: 4, records }]);
  });

  truncation('never passes the newest slot, which would be a bug of the writer', async () => {
    const { store, incarnation } = await begun(open);
    const passing = store.append(truncating(appendOf(incarnation, 0), 1));
    const error = await passing.then(
      () => undefined,
      (reason: unknown) => reason,
    );
    assert.instance(error, Error);
    assert.not.instance(error, Fault);
    assert.is((await store.readHead(incarnation, 'serial'))?.next, 0);
  });
  return truncation;
}

function readingSlots({ name, open, suite }: Subject): Test {
  const reading = suite(`reading slots in ${name}`);

  reading('returns a half-open range in ascending order', async () => {
    const { store, incarnation } = await begun(open);
    await appendMany(store, incarnation, 6);
    const read = async (from: number, to: number) =>
      slotNumbers(await store.readSlots(incarnation, from, to));
    assert.equal(await read(0, 6), [0, 1, 2, 3, 4, 5]);
    assert.equal(await read(2, 4), [2, 3]);
    assert.equal(await read(4, 100), [4, 5]);
    assert.equal(await read(3, 3), []);
    assert.equal(await read(4, 2), []);
    assert.equal(await read(6, 9), []);
  });

  reading('returns many slots completely and in order', async () => {
    const { store, incarnation } = await begun(open);
    await appendMany(store, incarnation, 150);
    const slots = await store.readSlots(incarnation, 1, 149);
    assert.is(slots.length, 148);
    for (const [index, { slot, records }] of slots.entries()) {
      assert.is(slot, index + 1);
      assert.equal(records, recordsOf(slot));
    }
  });
  return reading;
}

function histories({ name, open, suite, runs, isClosedBySeal = false }: Subject): Test {
  const histories = suite(`any history of a journal in ${name}`);

  histories('behaves like the model of a journal', async () => {
    const store = await open();
    const property = fc.asyncProperty(arbitrarySteps(), async (steps) => {
      const incarnation = newIncarnation();
      const model = new JournalModel(isClosedBySeal);
      for (const step of steps) {
        const append = step.kind === 'append' ? model.appendOf(incarnation, step) : undefined;
        const answer = await play(store, append, incarnation, step);
        assert.equal(answer, model.play(step, append), JSON.stringify(step));
      }
      assert.equal(await store.readHead(incarnation, 'serial'), model.head);
      assert.equal(await slotsOf(store, incarnation), model.slots());
    });
    await fc.assert(property, { numRuns: runs });
  });
  return histories;
}
