import { createHash } from 'node:crypto';
import { digestOf, formatApiKey, SECRET_LENGTH } from '#accounts/api-key';
import type { BenchAccount } from '#bench/limiter/bench-accounts';
import { withProgress } from '#bench/progress';
import { forEachConcurrently } from '#stdlib/for-each-concurrently';
import type { CassandraSession } from '#storage/cassandra/session';

/** Concurrent account writes: enough to keep Cassandra busy, with short queues. */
const WRITES_IN_FLIGHT = 64;

/** Limits far above the rate of a run. */
const REQUESTS_PER_MINUTE = 1_000_000n;
const CYCLES_PER_MONTH = 1_000_000_000n;

// A row holds an account and its key. No process reads these accounts during the writes, so plain
// writes suffice. With lightweight transactions, a million writes would take half an hour.
const PUT_ACCOUNT = `INSERT INTO accounts (account_id, revision, name, plan, status,
  requests_per_minute, cycles_per_month, created_at_ms,
  key_position, key_id, digest, scope, key_created_at_ms)
  VALUES (?, 1, ?, 'enterprise', 'active', ?, ?, ?, 0, ?, ?, 'full', ?)`;
const PUT_ID = 'INSERT INTO account_ids (bucket, account_id) VALUES (0, ?)';

/** An account with a full-scope API key. */
export type KnownAccount = BenchAccount & { readonly key: string };

/** Account number `index`, the same in every run. */
export function knownAccount(index: number): KnownAccount {
  const id = hexOf(`account ${index}`).slice(0, 12);
  const key = formatApiKey(id, hexOf(`secret ${index}`).slice(0, SECRET_LENGTH));
  return { id, key, keyDigest: digestOf(key) };
}

/** Writes accounts 0 to `count` - 1 with their keys directly into the tables. */
export async function seedKnownAccounts(
  session: CassandraSession,
  count: number,
  print: (line: string) => void,
): Promise<void> {
  const createdAt = BigInt(Date.now());
  const limits = [REQUESTS_PER_MINUTE, CYCLES_PER_MONTH];
  let written = 0;
  const write = async (index: number): Promise<void> => {
    const { id, keyDigest } = knownAccount(index);
    const keyId = `key_${hexOf(id).slice(0, 16)}`;
    const row = [id, `known ${index}`, ...limits, createdAt, keyId, keyDigest, createdAt];
    await session.execute(PUT_ID, [id], { kind: 'write', operation: 'seed_account_id' });
    await session.execute(PUT_ACCOUNT, row, { kind: 'write', operation: 'seed_account' });
    written += 1;
  };
  const numbers = Array.from({ length: count }, (_, index) => index);
  const goal = `of ${count.toLocaleString('en')} accounts`;
  const line = () => `wrote ${written.toLocaleString('en')} ${goal}`;
  await withProgress(line, print, () => forEachConcurrently(numbers, WRITES_IN_FLIGHT, write));
}

/** Hash of `text` in hexadecimal digits, which are valid base62 digits. */
function hexOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
