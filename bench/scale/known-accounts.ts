import { createHash } from 'node:crypto';
import { digestOf, formatApiKey, SECRET_LENGTH } from '#accounts/api-key';
import type { BenchAccount } from '#bench/limiter/bench-accounts';
import { withProgress } from '#bench/progress';
import type { CassandraSession } from '#storage/cassandra/session';

/** Accounts that are being written at once: Cassandra is busy and none of its queues grows long. */
const WRITES_IN_FLIGHT = 64;

/** Far above what a run asks for. */
const REQUESTS_PER_MINUTE = 1_000_000n;
const CYCLES_PER_MONTH = 1_000_000_000n;

// One row is an account with one key. Nobody else knows of these accounts while they are written, so
// none of it needs a condition; with one a million of them would take half an hour.
const PUT_ACCOUNT = `INSERT INTO accounts (account_id, revision, name, plan, status,
  requests_per_minute, cycles_per_month, created_at_ms,
  key_position, key_id, digest, scope, key_created_at_ms)
  VALUES (?, 1, ?, 'enterprise', 'active', ?, ?, ?, 0, ?, ?, 'full', ?)`;
const PUT_ID = 'INSERT INTO account_ids (bucket, account_id) VALUES (0, ?)';

/** The known account number `index` and the digest of its key; the same in every run. */
export function knownAccount(index: number): BenchAccount {
  const id = hexOf(`account ${index}`).slice(0, 12);
  const key = formatApiKey(id, hexOf(`secret ${index}`).slice(0, SECRET_LENGTH));
  return { id, keyDigest: digestOf(key) };
}

/** Writes `count` accounts, each with a key, into the tables without asking the service. */
export async function seedKnownAccounts(
  session: CassandraSession,
  count: number,
  tell: (line: string) => void,
): Promise<void> {
  const createdAt = BigInt(Date.now());
  let next = 0;
  const writer = async (): Promise<void> => {
    while (next < count) {
      const index = next;
      next += 1;
      const { id, keyDigest } = knownAccount(index);
      const limits = [REQUESTS_PER_MINUTE, CYCLES_PER_MONTH];
      const keyId = `key_${hexOf(id).slice(0, 16)}`;
      const row = [id, `known ${index}`, ...limits, createdAt, keyId, keyDigest, createdAt];
      await session.execute(PUT_ID, [id], { kind: 'write', operation: 'seed_account_id' });
      await session.execute(PUT_ACCOUNT, row, { kind: 'write', operation: 'seed_account' });
    }
  };
  const writers = () => Array.from({ length: WRITES_IN_FLIGHT }, writer);
  const line = () => `wrote ${next.toLocaleString('en')} of ${count.toLocaleString('en')} accounts`;
  await withProgress(line, tell, () => Promise.all(writers()));
}

/** Hexadecimal digits are base62 digits too. */
function hexOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
