import { ADOPTION_READS_MAX, ADOPTION_SLOTS } from '#runtime/bounds';
import { CorruptJournal, decodeGroup } from '#runtime/record-codec';
import type { JournalRecord } from '#storage/journal';
import type { JournalHead, JournalSlot, JournalStore } from '#storage/journal-store';

/** Everything of a record but its operation: kind, id, version, call, time. Ours. */
const FIELDS_BYTES = 100;

/** A record of somebody else's journal and roughly its size there, in bytes. */
export type TailRecord = { readonly record: JournalRecord; readonly bytes: number };

/**
 * The wanted records of a sealed journal's tail, `low` to before `next`, in order. Throws
 * `CorruptJournal` when a slot is missing or makes no sense, or when the journal is not sealed or
 * not there: whoever goes on then would lose what was acknowledged (architecture 3.1).
 */
export async function readTail(
  journals: JournalStore,
  incarnation: string,
  isWanted: (record: JournalRecord) => boolean,
): Promise<TailRecord[]> {
  const head = await journals.readHead(incarnation, 'serial');
  if (head === undefined) throw new CorruptJournal(`the journal of ${incarnation} is gone`);
  if (!head.isSealed) throw new CorruptJournal(`the journal of ${incarnation} is not sealed`);
  const tail: TailRecord[] = [];
  for await (const { records } of slotsOf(journals, incarnation, head)) {
    for (const record of decodeGroup(records)) {
      // Each by its own size: an average would let large ones gather in a group too large to append.
      if (isWanted(record)) tail.push({ record, bytes: bytesOf(record) });
    }
  }
  return tail;
}

/**
 * All slots from `low` to before `next` in order, the next of them read while some are looked at.
 * Throws `CorruptJournal` when one is missing.
 */
export async function* slotsOf(
  journals: JournalStore,
  incarnation: string,
  { low, next }: JournalHead,
): AsyncGenerator<JournalSlot> {
  const reads: Promise<JournalSlot[]>[] = [];
  for (let from = low; from < next || reads.length > 0; ) {
    while (from < next && reads.length < ADOPTION_READS_MAX) {
      const to = Math.min(next, from + ADOPTION_SLOTS);
      const read = readWhole(journals, incarnation, from, to);
      // Whoever stops at an earlier read leaves this one to itself.
      read.catch(() => undefined);
      reads.push(read);
      from = to;
    }
    yield* (await reads.shift()) ?? [];
  }
}

async function readWhole(
  journals: JournalStore,
  incarnation: string,
  from: number,
  to: number,
): Promise<JournalSlot[]> {
  const slots = await journals.readSlots(incarnation, from, to);
  if (slots.length !== to - from || slots.some(({ slot }, i) => slot !== from + i)) {
    throw new CorruptJournal(`the journal of ${incarnation} lacks slots in ${from} to ${to - 1}`);
  }
  return slots;
}

function bytesOf({ operation }: JournalRecord): number {
  return Buffer.byteLength(JSON.stringify(operation)) + FIELDS_BYTES;
}
