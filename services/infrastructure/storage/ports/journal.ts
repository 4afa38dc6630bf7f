/* Port of the journal store: append-only logs, and the seal that fences a former owner. */
import assert from 'node:assert/strict';
import { Fault } from '#errors/fault';

/** Committed event of one actor, as stored in the journal. Source: architecture 3.1. */
export type JournalRecord = {
  /** The kind of actor. */
  readonly actor: string;
  readonly actorId: string;
  /** Increases by one per committed event of the actor. Never starts again. */
  readonly version: number;
  /**
   * Call that committed the event; 0 if there is none. A retry must find the call even after a
   * crash.
   */
  readonly callId: number;
  /** Server time of the commit in Unix milliseconds. */
  readonly atMs: number;
  /** The event with everything needed to apply it again, as plain JSON data. */
  readonly event: unknown;
};

/** Log of committed events in commit order. A journal has one writer. */
export interface Journal {
  /** Whether records outlive this process. */
  readonly isLasting: boolean;
  /** Whether no other node can take over its actors while this process runs. */
  readonly isOnlyWriter: boolean;
  /**
   * Returns a fault while commits should be refused although appends still succeed. Absent if
   * commits are never refused.
   */
  readonly refusal?: (() => Fault | undefined) | undefined;
  /**
   * Appends a group of records, each as one line of JSON, as one durable unit. Returns undefined if
   * the group is durable immediately. Otherwise the promise fulfils when the group is durable and
   * no other writer could take over its actors before this call. The promise rejects with
   * `service_unavailable` when this writer must stop.
   *
   * Several groups may be in flight; they become durable in order. Groups below `lowWaterMark`
   * (numbered from 0 in the order of the calls) are not needed any more. `traceparent`: the span of
   * this append, if any.
   */
  append(
    lines: readonly string[],
    lowWaterMark: number,
    traceparent?: string,
  ): Promise<void> | undefined;
}

/** State of a journal, as read by other processes. Source: decision 191. */
export type JournalHead = {
  /** `host:port` of the process that writes the journal. */
  readonly address: string;
  /** Slot after the newest slot found. If the end of the journal is decided, the end. */
  readonly next: number;
  /** Low-water mark: slots below it are not needed any more. */
  readonly lowWaterMark: number;
  /** Whether the journal has a seal. After a seal no write can be acknowledged. */
  readonly isSealed: boolean;
};

/** Slot as sent by its writer. Every retry sends the same bytes. */
export type Append = {
  readonly incarnation: string;
  readonly slot: number;
  readonly records: Uint8Array;
  /** Low-water mark: slots below it are not needed any more. At most `slot`. */
  readonly lowWaterMark: number;
  /**
   * The same write deletes all slots below this slot. Undefined in most writes, because each
   * deletion is a tombstone. At most the low-water mark in an acknowledged slot. A reader that
   * finds the deletion then also finds a mark at least as high.
   */
  readonly deleteBelow: number | undefined;
};

/** Group of records in its slot. */
export type JournalSlot = { readonly slot: number; readonly records: Uint8Array };

/**
 * Result of a conditional write. `head`: the stored head after a refusal; undefined if the journal
 * does not exist.
 */
export type Conditional =
  | { readonly isApplied: true }
  | { readonly isApplied: false; readonly head: JournalHead | undefined };

/**
 * Journals of all incarnations. A slot is written unconditionally by the journal's only writer.
 * After the write is answered, the writer looks for a seal. If there is none, the writer
 * acknowledges the slot. A node that seals the journal later therefore finds the slot (decision
 * 191).
 *
 * Methods reject with `service_unavailable` if the store does not answer. With `isOutcomeUnknown`,
 * a write may have happened, or may still happen at any later time on some replicas. Methods reject
 * with `internal` if the store refuses permanently (too large, a broken query).
 */
export interface JournalStore {
  /** Creates a journal at slot 0, not sealed. Not applied if the incarnation has a journal. */
  begin(incarnation: string, address: string): Promise<Conditional>;
  /** Writes a slot to a quorum. May be repeated with the same bytes. */
  append(append: Append): Promise<void>;
  /**
   * Whether the journal has a seal. Always true if a call of `seal` fulfilled before this call
   * began.
   */
  isSealed(incarnation: string): Promise<boolean>;
  /**
   * Seals a journal and decides its end, unless the end is already decided. No slot from the end on
   * was or will be acknowledged. All slots from the low-water mark to the end can be read. Not
   * applied if the end is already decided or the journal does not exist.
   */
  seal(incarnation: string): Promise<Conditional>;
  /**
   * Current head of a journal. `serial` sees every created journal and every decided end. `quorum`
   * is cheap and may miss changes in flight.
   */
  readHead(incarnation: string, read: 'serial' | 'quorum'): Promise<JournalHead | undefined>;
  /** Existing slots from `from` up to but excluding `to`, in ascending order. */
  readSlots(incarnation: string, from: number, to: number): Promise<JournalSlot[]>;
  /**
   * Every incarnation that has a journal, and the time at which the journal's end was decided (Unix
   * milliseconds).
   */
  list(): Promise<{ incarnation: string; sealedAtMs: number | undefined }[]>;
  /**
   * Deletes a journal whose end is decided, with all its slots. Does nothing for other journals.
   */
  empty(incarnation: string): Promise<void>;
}

/** Maximum number of slots that a writer has in flight. A sealer relies on this bound. */
export const SLOTS_UNDER_WAY_MAX = 4;

/** Number of newest slots that a sealer reads: more than a writer has in flight. */
export const NEWEST_SLOTS = 8;

/** Newest slot of a journal, with or without its bytes. */
export type NewestSlot = { readonly slot: number; readonly lowWaterMark: number };

/** Newest slots of a journal, from a single read. */
export type NewestSlots = NewestSlot & {
  /** Slots among the newest `NEWEST_SLOTS` that have their bytes. */
  readonly whole: readonly number[];
};

/** Conditionally written part of a journal: the address of its writer and the decided end. */
export type JournalEntry = { readonly address: string; readonly end: number | undefined };

/** Steps of sealing, which each journal store implements. Each step may be repeated. */
export type SealSteps = {
  /** Reads the entry of a journal serially: the read sees every decided end. */
  readonly readEntry: (incarnation: string) => Promise<JournalEntry | undefined>;
  /** Writes the seal. Fulfils when a quorum has the seal. */
  readonly putSeal: (incarnation: string) => Promise<void>;
  /**
   * Reads the newest slots from a quorum in one read. After the answer, a quorum has these slots
   * with their bytes.
   */
  readonly readNewestSlots: (incarnation: string) => Promise<NewestSlots | undefined>;
  /** Decides the end unless it is already decided. Returns whether this call decided the end. */
  readonly decideEnd: (incarnation: string, end: number) => Promise<boolean>;
  readonly readHead: (incarnation: string, read: 'serial') => Promise<JournalHead | undefined>;
};

/**
 * Seals a journal and decides its end: see `JournalStore.seal`. Writes the seal first and reads the
 * slots afterwards. A writer that finds no seal after its write has written its slot before this
 * read, so this read finds the slot. Source: Gafni and Lamport, Disk Paxos, 2000. A slot that was
 * never acknowledged may be found in one read and not in the next. All nodes therefore use the same
 * decided end (decision 192). Rejects with an Error, and decides nothing, if more slots are missing
 * than a writer has in flight.
 */
export async function sealJournal(steps: SealSteps, incarnation: string): Promise<Conditional> {
  const entry = await steps.readEntry(incarnation);
  if (entry === undefined) return { isApplied: false, head: undefined };
  if (entry.end === undefined) {
    await steps.putSeal(incarnation);
    const end = endOf(await steps.readNewestSlots(incarnation));
    if (await steps.decideEnd(incarnation, end)) return { isApplied: true };
  }
  return { isApplied: false, head: await steps.readHead(incarnation, 'serial') };
}

/**
 * First missing slot. A writer has at most `SLOTS_UNDER_WAY_MAX` unanswered slots. A gap can
 * therefore only be among the newest slots, and no slot above the gap was acknowledged. Slots below
 * the low-water mark are not a gap, because they were deleted. Read repair can create a row without
 * bytes. The slot of such a row was begun, so it can be the newest slot, but it is also a gap.
 */
function endOf(newest: NewestSlots | undefined): number {
  if (newest === undefined) return 0;
  const { slot, lowWaterMark } = newest;
  const present = new Set(newest.whole);
  let end = Math.max(lowWaterMark, slot - NEWEST_SLOTS + 1);
  while (present.has(end)) end += 1;
  const isPossible = slot - end < SLOTS_UNDER_WAY_MAX;
  assert(
    isPossible,
    `slot ${end} is missing, slot ${slot} was begun, the low-water mark is ${lowWaterMark}`,
  );
  return end;
}

/** Head of a journal, combined from its three parts. */
function headFrom(
  { address, end }: JournalEntry,
  isSealed: boolean,
  newest: NewestSlot | undefined,
): JournalHead {
  const next = end ?? (newest === undefined ? 0 : newest.slot + 1);
  return { address, next, lowWaterMark: newest?.lowWaterMark ?? 0, isSealed };
}

/**
 * Maximum size of a group, in bytes: eight times the largest group. Cassandra refuses more than
 * half a commit-log segment (8 MiB of 16), but reports an unknown outcome.
 */
const GROUP_BYTES_MAX = 4 * 1_024 * 1_024;

/** Consistency for reading an entry: see `JournalStore.readHead`. */
export type HeadRead = Parameters<JournalStore['readHead']>[1];

/** Primitive operations of a journal store, which each database implements. */
export type JournalSteps = Pick<JournalStore, 'append' | 'readSlots' | 'list'> &
  Pick<SealSteps, 'putSeal' | 'readNewestSlots' | 'decideEnd'> & {
    /** Creates the entry of a journal. Returns whether this call created the entry. */
    readonly begin: (incarnation: string, address: string) => Promise<boolean>;
    readonly readEntry: (incarnation: string, read: HeadRead) => Promise<JournalEntry | undefined>;
    /** Whether a quorum has a seal. */
    readonly hasSeal: (incarnation: string) => Promise<boolean>;
    readonly readNewestSlot: (incarnation: string) => Promise<NewestSlot | undefined>;
    /** Deletes every slot, including slots that arrive later. */
    readonly deleteSlots: (incarnation: string) => Promise<void>;
    /** Deletes an entry whose end is decided. */
    readonly deleteEntry: (incarnation: string) => Promise<void>;
  };

/**
 * Builds a journal store from its primitive operations. All stores share this code for reading
 * heads, sealing and emptying.
 */
export function journalStoreOf(steps: JournalSteps): JournalStore {
  const readEntry = (incarnation: string) => steps.readEntry(incarnation, 'serial');
  /**
   * Reads the parts in parallel. Each part is correct by itself, and no caller needs a common
   * snapshot.
   */
  const readHead = async (
    incarnation: string,
    read: HeadRead,
  ): Promise<JournalHead | undefined> => {
    const [entry, hasSeal, newest] = await Promise.all([
      steps.readEntry(incarnation, read),
      steps.hasSeal(incarnation),
      steps.readNewestSlot(incarnation),
    ]);
    return entry && headFrom(entry, hasSeal, newest);
  };
  return {
    async begin(incarnation, address) {
      if (await steps.begin(incarnation, address)) return { isApplied: true };
      return { isApplied: false, head: await readHead(incarnation, 'serial').catch(unknownHead) };
    },
    async append(append) {
      assertSound(append);
      await steps.append(append);
    },
    isSealed: steps.hasSeal,
    seal: (incarnation) => sealJournal({ ...steps, readEntry, readHead }, incarnation),
    readHead,
    readSlots: steps.readSlots,
    list: steps.list,
    async empty(incarnation) {
      const entry = await readEntry(incarnation);
      if (entry?.end === undefined) return;
      // Delete the slots first: without the entry, nothing could find the slots again.
      await steps.deleteSlots(incarnation);
      await steps.deleteEntry(incarnation);
    },
  };
}

/** Asserts a valid append. Throws `internal` for a group above `GROUP_BYTES_MAX`. */
function assertSound({ slot, records, lowWaterMark, deleteBelow = 0 }: Append): void {
  assert(lowWaterMark <= slot, 'the newest slot of a journal is never deleted');
  assert(deleteBelow <= lowWaterMark, 'a slot at or above the low-water mark is never deleted');
  if (records.byteLength <= GROUP_BYTES_MAX) return;
  const size = `${records.byteLength} bytes`;
  throw new Fault(
    'internal',
    `a group of ${size} exceeds the journal's bound of ${GROUP_BYTES_MAX} bytes`,
  );
}

/** Replaces the error of an unreadable head after a refused `begin`. The node must retry. */
function unknownHead(cause: unknown): never {
  throw new Fault('service_unavailable', 'the store did not return the existing journal', {
    isOutcomeUnknown: true,
    cause,
  });
}
