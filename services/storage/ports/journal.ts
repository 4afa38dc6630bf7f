import assert from 'node:assert/strict';
import { Fault } from '#fault/fault';

/** One committed event of one actor, as the journal keeps it. Source: architecture 3.1. */
export type JournalRecord = {
  /** The kind of actor. */
  readonly actor: string;
  readonly actorId: string;
  /** Grows by one per committed event of the actor, for life. */
  readonly version: number;
  /** The call that committed it, 0 for none: a retry must find it after a crash too. */
  readonly callId: number;
  /** Server time of the commit in Unix milliseconds. */
  readonly atMs: number;
  /** The event with everything needed to run it again; plain JSON data. */
  readonly event: unknown;
};

/** What has happened, in the order in which it did. One writer. */
export interface Journal {
  /** Whether records outlive this process. */
  readonly isLasting: boolean;
  /** Whether no other node can take its actors over while this process lives. */
  readonly isOnlyWriter: boolean;
  /** Why nothing more should be committed for now, although what is appended may still be; absent: nothing. */
  readonly refusal?: (() => Fault | undefined) | undefined;
  /**
   * Makes a group of records, each as one line of JSON, durable as one unit. Returns undefined when
   * it is durable at once, else a promise that fulfils when it is and no other writer could take its
   * actors over before this call; it rejects with `service_unavailable` when this writer must stop.
   * Groups may be under way side by side, and are durable in order. Groups before the one at the
   * low-water mark (from 0, in the order of the calls) are not needed any more. `traceparent` is of the
   * append's own span, if it has one.
   */
  append(
    lines: readonly string[],
    lowWaterMark: number,
    traceparent?: string,
  ): Promise<void> | undefined;
}

/** What is known of a journal from outside. Source: decision 191. */
export type JournalHead = {
  /** `host:port` of the process that writes it. */
  readonly address: string;
  /** The slot after the newest that was found; once the journal's end is decided, that end. */
  readonly next: number;
  /** Slots below are not needed any more. */
  readonly lowWaterMark: number;
  /** Whether nothing more can be acknowledged. */
  readonly isSealed: boolean;
};

/** One slot as its writer sends it, first and every time again: a slot's bytes never change. */
export type Append = {
  readonly incarnation: string;
  readonly slot: number;
  readonly records: Uint8Array;
  /** Slots below are not needed any more. At most `slot`. */
  readonly lowWaterMark: number;
  /**
   * Slots below are deleted along with this write; undefined deletes none, as most do: each is a
   * tombstone. At most a mark that an acknowledged slot names, so that no reader finds the deletion
   * without finding a mark as high.
   */
  readonly deleteBelow: number | undefined;
};

/** A group as it stands in its slot. */
export type JournalSlot = { readonly slot: number; readonly records: Uint8Array };

/**
 * What came of a conditional write. `head` is what stands there after a refusal, undefined when
 * there is no such journal.
 */
export type Conditional =
  | { readonly isApplied: true }
  | { readonly isApplied: false; readonly head: JournalHead | undefined };

/**
 * The journals of all incarnations. A slot is written plainly, by its only writer, which
 * acknowledges it once a look that began after the write's answer has found no seal; a node that seals
 * a journal then finds the slot (decision 191). Methods reject with `service_unavailable` when the
 * store gives no answer; with `isOutcomeUnknown` a write may have happened or may yet happen, at
 * any later time, in a part of the replicas. They reject with `internal` when the store refuses for
 * good (too large, a broken query).
 */
export interface JournalStore {
  /** Begins a journal at slot 0, not sealed. Not applied when the incarnation has one. */
  begin(incarnation: string, address: string): Promise<Conditional>;
  /** Writes a slot, of which a quorum has it then. May be repeated, with the same bytes. */
  append(append: Append): Promise<void>;
  /** Whether there is a seal: true for good after a `seal` was fulfilled that ended before this began. */
  isSealed(incarnation: string): Promise<boolean>;
  /**
   * Seals a journal and decides its end, once: no slot from there on was or will be acknowledged,
   * and all between the low-water mark and the end can be read. Not applied when the end was decided
   * already or there is no such journal.
   */
  seal(incarnation: string): Promise<Conditional>;
  /**
   * The head now: `serial` sees every journal that was begun and every end that was decided;
   * `quorum` is cheap and may lag behind those under way.
   */
  readHead(incarnation: string, read: 'serial' | 'quorum'): Promise<JournalHead | undefined>;
  /** The slots `from` to before `to` that are there, in ascending order. */
  readSlots(incarnation: string, from: number, to: number): Promise<JournalSlot[]>;
  /** Every incarnation that has a journal, and since when its end is decided (Unix milliseconds). */
  list(): Promise<{ incarnation: string; sealedAtMs: number | undefined }[]>;
  /** Takes a journal away whose end is decided, with all that is left in it; else does nothing. */
  empty(incarnation: string): Promise<void>;
}

/** Slots that a writer has under way at once, at most: a sealer relies on it. */
export const SLOTS_UNDER_WAY_MAX = 4;

/** Slots up to the newest that a sealer looks at: more than may be under way. */
export const NEWEST_SLOTS = 8;

/** The newest slot of a journal, whether or not its bytes are there. */
export type NewestSlot = { readonly slot: number; readonly lowWaterMark: number };

/** A journal from the newest slot down, as one read finds it. */
export type NewestSlots = NewestSlot & {
  /** Those of the newest `NEWEST_SLOTS` that are there with their bytes. */
  readonly whole: readonly number[];
};

/** What is written conditionally of a journal: where its writer is, and the decided end. */
export type JournalEntry = { readonly address: string; readonly end: number | undefined };

/** The single steps of sealing, as a store of journals does them. Each may be repeated. */
export type SealSteps = {
  /** The entry of a journal, serially: every end that was decided is seen. */
  readonly readEntry: (incarnation: string) => Promise<JournalEntry | undefined>;
  /** Puts the seal there; fulfils when a quorum has it. */
  readonly putSeal: (incarnation: string) => Promise<void>;
  /** The newest slots in one read of a quorum, which has them, bytes and all, when it answers. */
  readonly readNewestSlots: (incarnation: string) => Promise<NewestSlots | undefined>;
  /** Decides the end unless it is decided; whether this call did. */
  readonly decideEnd: (incarnation: string, end: number) => Promise<boolean>;
  readonly readHead: (incarnation: string, read: 'serial') => Promise<JournalHead | undefined>;
};

/**
 * Seals a journal and decides its end: see `JournalStore.seal`. First the seal, then the look at the
 * slots: a writer whose look afterwards finds no seal has written its slot before this reads, so it
 * is found (Gafni and Lamport, Disk Paxos, 2000). What is found of slots that no answer was given
 * for may be more or less each time, hence one decided end that all go by (decision 192). Rejects
 * with an Error when more is missing than a writer has under way: then it decides nothing.
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
 * The first slot that is missing. A writer has few slots under way and begins none before all but
 * these are answered, so that a gap can only be among the newest; what is above it was never
 * acknowledged. What is below the low-water mark is no gap: it was deleted. A row without bytes is
 * one that read repair has made: its slot was begun, so it counts as the newest, and as a gap.
 */
function endOf(newest: NewestSlots | undefined): number {
  if (newest === undefined) return 0;
  const { slot, lowWaterMark } = newest;
  const present = new Set(newest.whole);
  let end = Math.max(lowWaterMark, slot - NEWEST_SLOTS + 1);
  while (present.has(end)) end += 1;
  const isPossible = slot - end < SLOTS_UNDER_WAY_MAX;
  assert(isPossible, `slot ${end} is missing, ${slot} was begun, ${lowWaterMark} is the mark`);
  return end;
}

/** The head of a journal from its three parts, each as it was read. */
function headFrom(
  { address, end }: JournalEntry,
  isSealed: boolean,
  newest: NewestSlot | undefined,
): JournalHead {
  const next = end ?? (newest === undefined ? 0 : newest.slot + 1);
  return { address, next, lowWaterMark: newest?.lowWaterMark ?? 0, isSealed };
}

/**
 * Bytes of one group that are sent at all. Cassandra refuses what is over half a commit-log segment
 * (8 MiB of 16), but answers as if the outcome were open. Eight times the largest group.
 */
const GROUP_BYTES_MAX = 4 * 1_024 * 1_024;

/** How an entry is read: see `JournalStore.readHead`. */
export type HeadRead = Parameters<JournalStore['readHead']>[1];

/** The single calls that a store of journals is made of, whatever keeps the rows. */
export type JournalSteps = Pick<JournalStore, 'append' | 'readSlots' | 'list'> &
  Pick<SealSteps, 'putSeal' | 'readNewestSlots' | 'decideEnd'> & {
    /** Makes the entry of a journal; whether this call did. */
    readonly begin: (incarnation: string, address: string) => Promise<boolean>;
    readonly readEntry: (incarnation: string, read: HeadRead) => Promise<JournalEntry | undefined>;
    /** Whether a quorum knows of a seal. */
    readonly hasSeal: (incarnation: string) => Promise<boolean>;
    readonly readNewestSlot: (incarnation: string) => Promise<NewestSlot | undefined>;
    /** Deletes every slot, those included that come later. */
    readonly deleteSlots: (incarnation: string) => Promise<void>;
    /** Deletes an entry whose end is decided. */
    readonly deleteEntry: (incarnation: string) => Promise<void>;
  };

/** The port made of these calls: the one way of reading heads, sealing and emptying. */
export function journalStoreOf(steps: JournalSteps): JournalStore {
  const readEntry = (incarnation: string) => steps.readEntry(incarnation, 'serial');
  /** The parts are read side by side: each alone is true, and no user needs more. */
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
      return { isApplied: false, head: await readHead(incarnation, 'serial').catch(notSaid) };
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
      // The slots first: without its entry nothing would ever look for them again.
      await steps.deleteSlots(incarnation);
      await steps.deleteEntry(incarnation);
    },
  };
}

/** Throws for what no writer may send, and `internal` for a group that no store should be burdened with. */
function assertSound({ slot, records, lowWaterMark, deleteBelow = 0 }: Append): void {
  assert(lowWaterMark <= slot, 'the newest slot of a journal is never deleted');
  assert(deleteBelow <= lowWaterMark, 'what is needed is never deleted');
  if (records.byteLength <= GROUP_BYTES_MAX) return;
  const size = `${records.byteLength} bytes`;
  throw new Fault('internal', `a group of ${size} is over ${GROUP_BYTES_MAX}, the journal's bound`);
}

/** A begin that was refused is of no use without the head: its node has to look again. */
function notSaid(cause: unknown): never {
  throw new Fault('service_unavailable', 'the store does not say what stands there', {
    isOutcomeUnknown: true,
    cause,
  });
}
