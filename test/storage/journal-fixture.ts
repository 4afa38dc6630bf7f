import { randomBytes } from 'node:crypto';
import type { suite as plainSuite } from 'uvu';
import * as assert from 'uvu/assert';
import { Fault } from '#errors/fault';
import type { Append, Conditional, JournalStore } from '#storage/ports/journal';

/** What the contract is run on. */
export type JournalSubject = {
  readonly name: string;
  /** The store under test, the same one or a new one each time. */
  readonly open: () => Promise<JournalStore>;
  /** Random histories to try. */
  readonly runs: number;
  /** Whether it drops slots that come after the seal, which no one acknowledges. */
  readonly isClosedBySeal?: boolean;
  /** uvu's `suite`, or one that skips. */
  readonly suite: typeof plainSuite;
};

/** Where the journals' writers say they are. */
export const ADDRESS = '127.0.0.1:8100';

/** What a write answers that did what it was asked. */
export const APPLIED: Conditional = { isApplied: true };

/** A journal that has just begun. */
export async function begun(
  open: JournalSubject['open'],
): Promise<{ store: JournalStore; incarnation: string }> {
  const store = await open();
  const incarnation = newIncarnation();
  assert.equal(await store.begin(incarnation, ADDRESS), APPLIED);
  return { store, incarnation };
}

/** An id that no test has used. */
export function newIncarnation(): string {
  return `node-${randomBytes(8).toString('hex')}`;
}

/** A few bytes that show which slot they were written for. */
export function recordsOf(slot: number): Uint8Array {
  return Uint8Array.of(slot % 256, 1, 2, 3);
}

/** An append that truncates nothing. */
export function appendOf(incarnation: string, slot: number, records = recordsOf(slot)): Append {
  return { incarnation, slot, records, lowWaterMark: 0, deleteBelow: undefined };
}

/** An append that deletes the slots below its low-water mark. */
export function truncating(append: Append, lowWaterMark: number): Append {
  return { ...append, lowWaterMark, deleteBelow: lowWaterMark };
}

/** Appends to the first `count` slots. */
export async function appendMany(
  store: JournalStore,
  incarnation: string,
  count: number,
): Promise<void> {
  for (let slot = 0; slot < count; slot += 1) {
    await store.append(appendOf(incarnation, slot));
  }
}

/** Every slot that is there. */
export async function slotsOf(store: JournalStore, incarnation: string) {
  const slots = await store.readSlots(incarnation, 0, Number.MAX_SAFE_INTEGER);
  return slots.map(({ slot, records }) => ({ slot, records: new Uint8Array(records) }));
}

/** The numbers of slots alone. */
export function slotNumbers(slots: readonly { slot: number }[]): number[] {
  return slots.map(({ slot }) => slot);
}

/** What the list says of one journal. */
export async function listed(store: JournalStore, incarnation: string) {
  const all = await store.list();
  return all.find((journal) => journal.incarnation === incarnation);
}

/** A store may give up under contention; then it must say that the outcome is unknown. */
export async function outcomeOf(
  write: Promise<Conditional>,
): Promise<'applied' | 'refused' | 'unknown'> {
  try {
    return (await write).isApplied ? 'applied' : 'refused';
  } catch (error) {
    if (error instanceof Fault && error.isOutcomeUnknown) return 'unknown';
    throw error;
  }
}
