import { Pool } from 'pg';
import { digestOf } from '#accounts/api-key';
import { firstIdentity, INSTANCE_ACCOUNT, instanceId } from '#bench/references/identity';
import { serveObservations } from '#bench/references/observation-app';
import { optimisticStore } from '#bench/references/optimistic-store';
import {
  answerOf,
  bytesOf,
  EXPIRE,
  FIND,
  identityOf,
  READ,
  TABLES,
  writeOf,
} from '#bench/references/rows';
import type { CycleRow } from '#bench/references/store';
import { transactionStore } from '#bench/references/transaction';

// References (pg) and (cas): a typical well-written service on Fastify and PostgreSQL. Model and
// answer format are the service's. No limiter.
//
// Usage: node bench/references/postgres.ts <transaction|compare-and-set> <port> <database URL> <API
// key> <number of instances>

/** Maximum database connections: enough for commits to share a log flush. */
const CONNECTIONS_MAX = 32;

/** Rows per INSERT statement when instances are created. */
const FILLED_AT_ONCE = 1_000;

/** Interval of deletions of expired answers, in ms. */
const EXPIRE_INTERVAL_MS = 3_600_000;

const [way, port = '0', connectionString = '', apiKey = '', count = '0'] = process.argv.slice(2);
const pool = new Pool({
  connectionString,
  max: CONNECTIONS_MAX,
  min: CONNECTIONS_MAX,
  pipeline: true,
});
// Without a listener, a lost connection would end the process. Its query rejects.
pool.on('error', () => {});
pool.on('connect', (client) => client.on('error', () => {}));
await fill();
setInterval(() => pool.query(EXPIRE).catch(console.error), EXPIRE_INTERVAL_MS).unref();
const store = way === 'compare-and-set' ? compareAndSetStore() : transactionStore(pool);
const accounts = await accountsByDigest();
await serveObservations({ port: Number(port), store: { ...store, list }, accounts });

/** Reference (cas): an auto-committed statement per observation, also with a key. */
function compareAndSetStore() {
  return optimisticStore({
    async read(id, accountId) {
      const { rows } = await pool.query({ name: 'read', text: READ, values: [id, accountId] });
      return identityOf(rows[0]);
    },
    async find(id, key) {
      const { rows } = await pool.query({ ...FIND, values: [id, key] });
      return answerOf(rows[0]);
    },
    async swap(id, cycle, idempotency) {
      const { rowCount } = await pool.query(writeOf(id, cycle, idempotency));
      return rowCount === 1;
    },
  });
}

async function list(limit: number, offset: number): Promise<CycleRow[]> {
  // Select the page first: rows before the offset need no count.
  const text = `SELECT id,
      (SELECT count(*)::integer FROM history WHERE instance_id = id) AS cycle_count
    FROM (SELECT id FROM instances ORDER BY id LIMIT $1 OFFSET $2) AS page`;
  const { rows } = await pool.query(text, [limit, offset]);
  return rows;
}

/** Creates the tables, the account's key and the instances with the personas' profiles. */
async function fill(): Promise<void> {
  await pool.query(TABLES);
  await pool.query('INSERT INTO api_keys VALUES ($1, $2)', [digestOf(apiKey), INSTANCE_ACCOUNT]);
  for (let first = 0; first < Number(count); first += FILLED_AT_ONCE) {
    const length = Math.min(FILLED_AT_ONCE, Number(count) - first);
    const numbers = Array.from({ length }, (_, i) => first + i);
    const identities = numbers.map(firstIdentity);
    await pool.query(
      `INSERT INTO instances (id, account_id, version, model)
        SELECT id, $2, version, model FROM unnest($1::text[], $3::integer[], $4::bytea[])
        AS made (id, version, model)`,
      [
        numbers.map(instanceId),
        INSTANCE_ACCOUNT,
        identities.map(({ version }) => version),
        identities.map(({ model }) => bytesOf(model)),
      ],
    );
  }
}

async function accountsByDigest(): Promise<Map<string, string>> {
  const { rows } = await pool.query('SELECT digest, account_id FROM api_keys');
  return new Map(rows.map((row) => [row.digest, row.account_id]));
}
