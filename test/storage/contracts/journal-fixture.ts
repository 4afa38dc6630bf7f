import { randomBytes } from 'node:crypto';
import type { suite as plainSuite } from 'uvu';
import * as assert from 'uvu/assert';
import { Fault } from '#errors/fault';
import type { Append, Conditional, JournalStore } from '#storage/ports/journal';

/** Store under contract test. */
export type JournalSubject = {
  readonly name: string;
  /** Opens the store under test. Every call may return the same store. */
  readonly open: () => Promise<JournalStore>;
  /** Number of random histories to test. */
  readonly runs: number;
  /**
   * Whether the store drops slots that are written after the seal. Nobody acknowledges such slots.
   */
  readonly isClosedBySeal?: boolean;
  /** uvu's `suite`, or a variant that skips all tests. */
  readonly suite: typeof plainSuite;
};

/** Address of the journals' writers. */
export const ADDRESS = '127.0.0.1:8100';

/** Answer of a successful conditional write. */
export const APPLIED: Conditional = { isApplied: true };

/** Begins a new journal. */
export async function begun(
  open: JournalSubject['open'],
): Promise<{ store: JournalStore; incarnation: string }> {
  const store = await open();
  const incarnation = newIncarnation();
  assert.equal(await store.begin(incarnation, ADDRESS), APPLIED);
  return { store, incarnation };
}

/** An unused incarnation id. */
export function newIncarnation(): string {
  return `node-${randomBytes(8).toString('hex')}`;
}

/** Bytes that identify their slot. */
export function recordsOf(slot: number): Uint8Array {
  return Uint8Array.of(slot % 256, 1, 2, 3);
}

/** Append without truncation. */
export function appendOf(incarnation: string, slot: number, records = recordsOf(slot)): Append {
  return { incarnation, slot, records, lowWaterMark: 0, deleteBelow: undefined };
}

/** Append that deletes slots below its low-water mark. */
export function truncating(append: Append, lowWaterMark: number): Append {
  return { ...append, lowWaterMark, deleteBelow: lowWaterMark };
}

/** Appends the first `count` slots. */
export async function appendMany(
  store: JournalStore,
  incarnation: string,
  count: number,
): Promise<void> {
  for (let slot = 0; slot < count; slot += 1) {
    await store.append(appendOf(incarnation, slot));
  }
}

/** All slots of a journal. */
export async function slotsOf(store: JournalStore, incarnation: string) {
  const slots = await store.readSlots(incarnation, 0, Number.MAX_SAFE_INTEGER);
  return slots.map(({ slot, records }) => ({ slot, records: new Uint8Array(records) }));
}

/** Numbers of these slots. */
export function slotNumbers(slots: readonly { slot: number }[]): number[] {
  return slots.map(({ slot }) => slot);
}

/** List entry of a journal. */
export async function listed(store: JournalStore, incarnation: string) {
  const all = await store.list();
  return all.find((journal) => journal.incarnation === incarnation);
}

/** Outcome of a call. Under contention, a store may give up with an unknown outcome. */
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
