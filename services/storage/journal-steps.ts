import assert from 'node:assert/strict';
import { Fault } from '#fault/fault';
import type { Append, JournalHead, JournalStore } from '#storage/journal-store';
import {
  headFrom,
  type JournalEntry,
  type NewestSlot,
  type SealSteps,
  sealJournal,
} from '#storage/seal-journal';

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
