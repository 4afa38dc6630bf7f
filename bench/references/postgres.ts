import fastify from 'fastify';
import { Pool } from 'pg';
import { digestOf } from '#accounts/api-key';
import { compareAndSetStore } from '#bench/references/compare-and-set';
import { newIdentity, type SentObservation } from '#bench/references/identity';
import { bytesOf, TABLES } from '#bench/references/rows';
import { OBSERVATION, PROCESS_PARAMS } from '#bench/references/schemas';
import { transactionStore } from '#bench/references/transaction';
import { PERSONA_PROFILES } from '#identity/persona-profiles';

// References (pg) and (cas): a typical well-written service on Fastify and PostgreSQL. ajv
// validates path and body. The API key's digest is looked up in memory. Model and answer format are
// the service's. No limiter. Metrics and listing have the service's names, so that the same checks
// apply.
//
// Usage: node bench/references/postgres.ts <transaction|compare-and-set> <port> <database URL> <API
// key> <number of instances>

/** Maximum database connections: enough for commits to share a log flush. */
const CONNECTIONS_MAX = 32;

/** Rows per INSERT statement when instances are created. */
const FILLED_AT_ONCE = 1_000;

const ACCOUNT = 'bench0000000';

const [way, port = '0', connectionString = '', apiKey = '', count = '0'] = process.argv.slice(2);
const pool = new Pool({ connectionString, max: CONNECTIONS_MAX, min: CONNECTIONS_MAX });
const store = way === 'compare-and-set' ? compareAndSetStore(pool) : transactionStore(pool);
await fill();
const accounts = await accountsByDigest();
const tally = { advanced: 0, early: 0 };

const app = fastify();
app.decorateRequest('accountId', '');
app.get('/metrics', async () => {
  return `identity_cycles_total ${tally.advanced}\nidentity_throttled_total ${tally.early}\n`;
});
// Counts rows of `history`, which ledger.ts compares with the number of answers.
app.get<{ Querystring: { limit: string; offset: string } }>('/v1/instances', async ({ query }) => {
  // Select the page first: rows before the offset need no count.
  const text = `SELECT id, (SELECT count(*)::integer FROM history WHERE instance_id = id) AS cycle_count
    FROM (SELECT id FROM instances ORDER BY id LIMIT $1 OFFSET $2) AS page`;
  const { rows } = await pool.query(text, [query.limit, query.offset]);
  return { data: rows };
});
app.post<{ Params: { id: string }; Body: SentObservation }>(
  '/v1/instances/:id/process',
  {
    schema: {
      params: PROCESS_PARAMS,
      body: OBSERVATION,
    },
  },
  async (request, reply) => {
    const { authorization = '' } = request.headers;
    const accountId = accounts.get(digestOf(authorization.slice('Bearer '.length)));
    if (accountId === undefined) return reply.code(401).send({ error: 'unauthorized' });
    const answer = await store.process(request.params.id, accountId, request.body);
    if (answer === 'unknown') return reply.code(404).send({ error: 'not_found' });
    if (answer === 'early') {
      tally.early += 1;
      return reply.code(409).send({ error: 'too_early' });
    }
    tally.advanced += 1;
    const { body, etag } = answer;
    return reply.header('etag', etag).type('application/json; charset=utf-8').send(body);
  },
);
await app.listen({ host: '127.0.0.1', port: Number(port) });

/** Creates the tables, the account's key and the instances with the personas' profiles. */
async function fill(): Promise<void> {
  await pool.query(TABLES);
  await pool.query('INSERT INTO api_keys VALUES ($1, $2)', [digestOf(apiKey), ACCOUNT]);
  const models = PERSONA_PROFILES.map(({ strengths }) => newIdentity(strengths));
  for (let first = 0; first < Number(count); first += FILLED_AT_ONCE) {
    const length = Math.min(FILLED_AT_ONCE, Number(count) - first);
    const numbers = Array.from({ length }, (_, i) => first + i);
    const identities = numbers.map((i) => models[i % models.length] ?? newIdentity([]));
    await pool.query(
      `INSERT INTO instances (id, account_id, version, model)
        SELECT id, $2, version, model FROM unnest($1::text[], $3::integer[], $4::bytea[])
        AS made (id, version, model)`,
      [
        numbers.map((i) => `inst_${i.toString(16).padStart(16, '0')}`),
        ACCOUNT,
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
