import { APPEND_RETRY_MS } from '#node/bounds';
import { type Clock, sleep } from '#platform/clock';
import type { JournalStore } from '#storage/journal-store';

/** Where an incarnation's journal begins. */
export type BeginJournalPorts = { readonly journals: JournalStore; readonly clock: Clock };

/**
 * Begins the journal of an incarnation at `address`, again and again until the store answers or
 * `hasEnded`; an earlier try that seemed to fail counts. Rejects when the id is taken.
 */
export async function beginJournal(
  id: string,
  address: string,
  { journals, clock }: BeginJournalPorts,
  hasEnded: () => boolean,
): Promise<void> {
  while (!hasEnded()) {
    const begun = await journals.begin(id, address).catch(() => undefined);
    if (begun?.isApplied) return;
    const head = begun?.head;
    if (head?.address === address && head.next === 0 && !head.isSealed) return;
    if (begun !== undefined) throw new Error(`there is a journal of ${id} already`);
    await sleep(clock, APPEND_RETRY_MS);
  }
}
