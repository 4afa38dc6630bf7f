import {
  TAIL_READ_BYTES,
  TAIL_READ_SLOTS_MAX,
  TAIL_READ_SLOTS_MIN,
  TAIL_READS_IN_FLIGHT_MAX,
} from '#node/bounds';
import { actorOf, CorruptJournal, linesOf } from '#runtime/record-codec';
import type { JournalHead, JournalSlot, JournalStore } from '#storage/journal-store';

/** Slots in order, and whether the store could not answer them all at once. */
type Read = { readonly slots: readonly JournalSlot[]; readonly wasTooLarge: boolean };

/** A record of another node's journal, as it stands there: only its actor has been read. */
export type TailRecord = {
  readonly actor: string;
  readonly actorId: string;
  readonly line: string;
};

/**
 * The records of the wanted actors in a sealed journal's tail, the low-water mark to before
 * `next`, in order: as they are, because most of a takeover's time would go into decoding and
 * encoding them again. Throws `CorruptJournal` when a slot is missing or makes no sense, or when the
 * journal is not sealed or not there: going on would lose what was acknowledged (architecture 3.1).
 */
export async function readTail(
  journals: JournalStore,
  incarnation: string,
  isWanted: (actorId: string) => boolean,
): Promise<TailRecord[]> {
  const found = await journals.readHead(incarnation, 'serial');
  if (found?.isSealed === false) {
    throw new CorruptJournal(`the journal of ${incarnation} is not sealed`);
  }
  // The node that put the seal there may have died before the end was decided.
  const sealed = await journals.seal(incarnation);
  const head = sealed.isApplied ? await journals.readHead(incarnation, 'serial') : sealed.head;
  if (head === undefined) throw new CorruptJournal(`the journal of ${incarnation} is gone`);
  const tail: TailRecord[] = [];
  for await (const { records } of slotsOf(journals, incarnation, head)) {
    for (const line of linesOf(records)) {
      const { actor, actorId } = actorOf(line);
      if (isWanted(actorId)) tail.push({ actor, actorId, line });
    }
  }
  return tail;
}

/**
 * All slots from the low-water mark to before `next` in order, the next of them read while some are
 * looked at. Throws `CorruptJournal` when one is missing.
 */
export async function* slotsOf(
  journals: JournalStore,
  incarnation: string,
  { lowWaterMark, next }: JournalHead,
): AsyncGenerator<JournalSlot> {
  const reads: Promise<Read>[] = [];
  let count = TAIL_READ_SLOTS_MIN;
  let most = TAIL_READ_SLOTS_MAX;
  for (let from = lowWaterMark; from < next || reads.length > 0; ) {
    while (from < next && reads.length < TAIL_READS_IN_FLIGHT_MAX) {
      const to = Math.min(next, from + count);
      const read = readWhole(journals, incarnation, from, to);
      // A caller that stops at an earlier read does not await this one.
      read.catch(() => undefined);
      reads.push(read);
      from = to;
    }
    const read = await reads.shift();
    if (read === undefined) continue;
    if (read.wasTooLarge) most = TAIL_READ_SLOTS_MIN;
    count = Math.min(most, countAfter(read, count));
    yield* read.slots;
  }
}

/** How many slots to read next: what an idle node appended is tiny, what a full one did is not. */
function countAfter({ slots }: Read, count: number): number {
  const bytes = slots.reduce((sum, { records }) => sum + records.length, 0);
  if (bytes > TAIL_READ_BYTES) return Math.max(TAIL_READ_SLOTS_MIN, count / 2);
  // One that was begun when reads were smaller says nothing about larger ones.
  const isRoomLeft = slots.length === count && bytes < TAIL_READ_BYTES / 2;
  return isRoomLeft ? count * 2 : count;
}

async function readWhole(
  journals: JournalStore,
  incarnation: string,
  from: number,
  to: number,
): Promise<Read> {
  const whole = await journals.readSlots(incarnation, from, to).catch((error: unknown) => {
    if (to - from <= TAIL_READ_SLOTS_MIN) throw error;
    return undefined;
  });
  const slots = whole ?? (await readInPieces(journals, incarnation, from, to));
  if (!isWhole(slots, from, to)) {
    throw new CorruptJournal(`the journal of ${incarnation} lacks slots in ${from} to ${to - 1}`);
  }
  return { slots, wasTooLarge: whole === undefined };
}

/** Whether these are exactly the slots `from` to before `to`. */
function isWhole(slots: readonly JournalSlot[], from: number, to: number): boolean {
  return slots.length === to - from && slots.every(({ slot }, i) => slot === from + i);
}

/** Slots that turn out too large for one answer must not keep their shards from everybody. */
async function readInPieces(
  journals: JournalStore,
  incarnation: string,
  from: number,
  to: number,
): Promise<JournalSlot[]> {
  const slots: JournalSlot[] = [];
  for (let at = from; at < to; at += TAIL_READ_SLOTS_MIN) {
    const end = Math.min(to, at + TAIL_READ_SLOTS_MIN);
    slots.push(...(await journals.readSlots(incarnation, at, end)));
  }
  return slots;
}
