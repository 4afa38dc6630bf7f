import { Fault } from '#fault/fault';
import type { Append, JournalHead, JournalSlot, JournalStore } from '#storage/journal-store';
import {
  headFrom,
  type JournalEntry,
  type NewestSlot,
  type NewestSlots,
  sealJournal,
} from '#storage/seal-journal';

/** How an entry is read. */
type ReadKind = Parameters<JournalStore['readHead']>[1];

/** The single calls that a process makes of a store of journals. Each may fail by itself. */
export type JournalSteps = {
  /** Whether the journal was begun by this. */
  readonly begin: (incarnation: string, address: string) => Promise<boolean>;
  readonly append: (append: Append) => Promise<void>;
  /** Whether a writer finds a seal; on fewer replicas than a quorum where that is broken on purpose. */
  readonly look: (incarnation: string, replicas?: number) => Promise<boolean>;
  /** Whether any other reader does. */
  readonly hasSeal: (incarnation: string) => Promise<boolean>;
  readonly putSeal: (incarnation: string, replicas?: number) => Promise<void>;
  readonly readEntry: (incarnation: string, read: ReadKind) => Promise<JournalEntry | undefined>;
  readonly readNewestSlot: (incarnation: string) => Promise<NewestSlot | undefined>;
  readonly readNewest: (incarnation: string) => Promise<NewestSlots>;
  readonly decideEnd: (incarnation: string, end: number) => Promise<boolean>;
  readonly readSlots: (incarnation: string, from: number, to: number) => Promise<JournalSlot[]>;
  readonly list: JournalStore['list'];
  readonly deleteSlots: (incarnation: string) => Promise<void>;
  readonly deleteEntry: (incarnation: string) => Promise<void>;
};

/** The port as the adapter of the real store makes it of such calls, with the real way of sealing. */
export function journalStoreOf(steps: JournalSteps): JournalStore {
  const readHead = async (
    incarnation: string,
    read: ReadKind,
  ): Promise<JournalHead | undefined> => {
    const [entry, hasSeal, newest] = await Promise.all([
      steps.readEntry(incarnation, read),
      steps.hasSeal(incarnation),
      steps.readNewestSlot(incarnation),
    ]);
    return entry && headFrom(entry, hasSeal, newest);
  };
  const readEntry = (incarnation: string) => steps.readEntry(incarnation, 'serial');
  return {
    async begin(incarnation, address) {
      if (await steps.begin(incarnation, address)) return { isApplied: true };
      return { isApplied: false, head: await readHead(incarnation, 'serial').catch(notSaid) };
    },
    append: (append) => steps.append(append),
    isSealed: (incarnation) => steps.look(incarnation),
    seal: (incarnation) => sealJournal({ ...steps, readEntry, readHead }, incarnation),
    readHead,
    readSlots: (incarnation, from, to) => steps.readSlots(incarnation, from, to),
    list: () => steps.list(),
    async empty(incarnation) {
      const entry = await readEntry(incarnation);
      if (entry?.end === undefined) return;
      await steps.deleteSlots(incarnation);
      await steps.deleteEntry(incarnation);
    },
  };
}

/** A begin that was refused is of no use without what stands there. */
function notSaid(cause: unknown): never {
  const options = { isOutcomeUnknown: true, cause } as const;
  throw new Fault('service_unavailable', 'the store does not say what stands there', options);
}
