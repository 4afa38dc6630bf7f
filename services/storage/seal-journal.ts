import assert from 'node:assert/strict';
import type { Conditional, JournalHead } from '#storage/journal-store';

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
export function headFrom(
  { address, end }: JournalEntry,
  isSealed: boolean,
  newest: NewestSlot | undefined,
): JournalHead {
  const next = end ?? (newest === undefined ? 0 : newest.slot + 1);
  return { address, next, lowWaterMark: newest?.lowWaterMark ?? 0, isSealed };
}
