import { createHash } from 'node:crypto';
import { digestOf, formatApiKey, SECRET_LENGTH } from '#accounts/api-key';
import type { BenchAccount } from '#bench/limiter/bench-accounts';
import { withProgress } from '#bench/progress';
import { forEachConcurrently } from '#stdlib/for-each-concurrently';
import type { CassandraSession } from '#storage/cassandra/session';

/** Accounts that are being written at once: Cassandra is busy and none of its queues grows long. */
const WRITES_IN_FLIGHT = 64;

/** Far above what a run asks for. */
const REQUESTS_PER_MINUTE = 1_000_000n;
const CYCLES_PER_MONTH = 1_000_000_000n;

// One row is an account with one key. No process knows of these accounts while they are written, so
// none of it needs a condition; with one a million of them would take half an hour.
const PUT_ACCOUNT = `INSERT INTO accounts (account_id, revision, name, plan, status,
  requests_per_minute, cycles_per_month, created_at_ms,
  key_position, key_id, digest, scope, key_created_at_ms)
  VALUES (?, 1, ?, 'enterprise', 'active', ?, ?, ?, 0, ?, ?, 'full', ?)`;
const PUT_ID = 'INSERT INTO account_ids (bucket, account_id) VALUES (0, ?)';

/** An account and the key that may do everything with it. */
export type KnownAccount = BenchAccount & { readonly key: string };

/** The known account number `index`; the same in every run. */
export function knownAccount(index: number): KnownAccount {
  const id = hexOf(`account ${index}`).slice(0, 12);
  const key = formatApiKey(id, hexOf(`secret ${index}`).slice(0, SECRET_LENGTH));
  return { id, key, keyDigest: digestOf(key) };
}

/** Writes the first `count` accounts, each with its key, into the tables without asking the service. */
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
  const of = `of ${count.toLocaleString('en')} accounts`;
  const line = () => `wrote ${written.toLocaleString('en')} ${of}`;
  await withProgress(line, print, () => forEachConcurrently(numbers, WRITES_IN_FLIGHT, write));
}

/** Hexadecimal digits are base62 digits too. */
function hexOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
