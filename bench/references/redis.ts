import { readFile } from 'node:fs/promises';
import { createClient, RESP_TYPES } from '@redis/client';
import { digestOf } from '#accounts/api-key';
import {
  type Cycle,
  firstIdentity,
  INSTANCE_ACCOUNT,
  instanceId,
  type StoredIdentity,
} from '#bench/references/identity';
import { serveObservations } from '#bench/references/observation-app';
import { optimisticStore } from '#bench/references/optimistic-store';
import { bytesOf, modelOf } from '#bench/references/rows';
import {
  ANSWER_HOURS,
  type CycleRow,
  type Idempotency,
  type StoredAnswer,
} from '#bench/references/store';

// Reference (redis): Fastify and Redis with an append-only file that is synced before each answer.
// A Lua script compares the version and writes state, history row and answer atomically. The
// process caches state, so that an observation takes one round trip. The client pipelines all calls
// of an event-loop turn. Model and answer format are the service's. No limiter.
//
// Usage: node bench/references/redis.ts <port> <Redis address> <API key> <number of instances>

const SCRIPT = 'bench/references/observe.lua';

const ANSWER_S = `${ANSWER_HOURS * 3_600}`;

/** Keys of an instance. The braces keep the keys on one server of a Redis cluster. */
const keysOf = (id: string) => [`instance:{${id}}`, `history:{${id}}`];

const [port = '0', address = '', apiKey = '', count = '0'] = process.argv.slice(2);
const client = createClient({ url: `redis://${address}` });
client.on('error', (error) => process.stderr.write(`${error}\n`));
await client.connect();
const bytesClient = client.withTypeMapping({ [RESP_TYPES.BLOB_STRING]: Buffer });
const script = await client.scriptLoad(await readFile(SCRIPT, 'utf8'));
await fill();
const accounts = new Map(Object.entries(await client.hGetAll('api_keys')));
const store = { ...optimisticStore({ read, find, swap }), list };
await serveObservations({ port: Number(port), store, accounts });

async function find(id: string, key: string): Promise<StoredAnswer | undefined> {
  const lines = await client.get(answerKeyOf(id, key));
  if (typeof lines !== 'string') return undefined;
  const [fingerprint = '', etag = '', body = ''] = lines.split('\n');
  return { fingerprint, etag, body };
}

async function swap(
  id: string,
  { next, mode, signal, confidence, contextJson, answer }: Cycle,
  idempotency: Idempotency | undefined,
): Promise<boolean> {
  const { version, observedAtMs, model } = next;
  const row = JSON.stringify([version, observedAtMs, mode, signal, confidence, contextJson]);
  const keys = keysOf(id);
  const values = [`${version - 1}`, `${version}`, `${observedAtMs}`, bytesOf(model), row];
  if (idempotency !== undefined) {
    keys.push(answerKeyOf(id, idempotency.key));
    // Lines, because JSON would escape every quote of the body.
    values.push([idempotency.fingerprint, answer.etag, answer.body].join('\n'), ANSWER_S);
  }
  return (await client.evalSha(script, { keys, arguments: values })) === 1;
}

function answerKeyOf(id: string, key: string): string {
  return `answer:{${id}}:${key}`;
}

async function read(id: string, accountId: string): Promise<StoredIdentity | undefined> {
  const [key = ''] = keysOf(id);
  const fields = await bytesClient.hGetAll(key);
  const { account_id: owner, version, observed_at_ms: observedAtMs, model } = fields;
  if (version === undefined || model === undefined || `${owner}` !== accountId) return undefined;
  return {
    version: Number(`${version}`),
    observedAtMs: observedAtMs === undefined ? undefined : Number(`${observedAtMs}`),
    model: modelOf(model),
  };
}

async function list(limit: number, offset: number): Promise<CycleRow[]> {
  const ids = await client.zRange('instances', offset, offset + limit - 1);
  return Promise.all(
    ids.map(async (id) => {
      const [, history = ''] = keysOf(id);
      return { id, cycle_count: await client.lLen(history) };
    }),
  );
}

/** Creates the account's key and the instances with the personas' profiles. */
async function fill(): Promise<void> {
  await client.hSet('api_keys', digestOf(apiKey), INSTANCE_ACCOUNT);
  const instances = Array.from({ length: Number(count) }, (_, i) => i);
  await Promise.all(
    instances.map(async (instance) => {
      const id = instanceId(instance);
      const { version, model } = firstIdentity(instance);
      const [key = ''] = keysOf(id);
      const state = { account_id: INSTANCE_ACCOUNT, version: `${version}`, model: bytesOf(model) };
      await Promise.all([
        client.hSet(key, state),
        client.zAdd('instances', { score: instance, value: id }),
      ]);
    }),
  );
}
