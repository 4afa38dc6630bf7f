import { type AuditFinding, ChainCheck } from '#audit/chain';
import type { AuditEntry } from '#audit/entry';
import { AuditTrail } from '#audit/trail';
import { memoryAuditStore } from '#storage/memory/meters';
import type { AuditStore, StoredAuditLine } from '#storage/ports/audit';
import { ManualClock } from '#test/support/manual-clock';

/** Id of the account in these tests. */
export const ACCOUNT = 'testAccount1';

/** An audit entry with defaults, overridden by `options`. */
export function entryOf(options: Partial<AuditEntry> = {}): AuditEntry {
  return {
    actor: { kind: 'operator', id: 'abc' },
    action: 'key.revoke',
    outcome: 'begun',
    ...options,
  };
}

/** A trail on a memory store, with a manual clock. */
export function openTrail(store: AuditStore = memoryAuditStore()) {
  const clock = new ManualClock();
  return { store, clock, trail: new AuditTrail({ store, clock }) };
}

/** All lines of a month, oldest first. */
export async function linesOf(store: AuditStore, month: string): Promise<StoredAuditLine[]> {
  const head = await store.head(ACCOUNT, month);
  return (await store.read(ACCOUNT, month, head?.lines ?? 0, 100_000)).toReversed();
}

/** Findings of the chain check after `change` has altered the lines of a month. */
export async function findingsOf(
  store: AuditStore,
  month: string,
  change = (lines: StoredAuditLine[]) => lines,
): Promise<AuditFinding[]> {
  const check = new ChainCheck(ACCOUNT, month);
  for (const line of change(await linesOf(store, month))) check.take(line);
  check.end(await store.head(ACCOUNT, month));
  return check.findings;
}
