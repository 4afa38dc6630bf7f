import { Agent, createServer, type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { createClient } from '@redis/client';
import { Ajv } from 'ajv';
import formats from 'ajv-formats';
import { digestOf } from '#accounts/api-key';
import {
  firstIdentity,
  INSTANCE_ACCOUNT,
  instanceId,
  observe,
  type SentObservation,
  type StoredIdentity,
} from '#bench/references/identity';
import { fingerprintOf } from '#bench/references/observation-app';
import { bytesOf, modelOf } from '#bench/references/rows';
import { OBSERVATION } from '#bench/references/schemas';
import { ANSWER_HOURS, replayOf, type StoredAnswer } from '#bench/references/store';

// Reference (dapr): a virtual actor per instance. Dapr's sidecar accepts the HTTP call, runs one
// call of an actor at a time, calls this process, and stores the actor's transaction in Redis.
// Redis syncs to disk before each answer. Model and answer format are the service's. No limiter.
//
// Usage: node bench/references/dapr.ts <port> <sidecar URL> <Redis address> <API key> <number of
// instances>

/** Calls in flight when instances are created. */
const CREATED_AT_ONCE = 32;

/** Pause before another attempt while the placement service assigns actors, in ms. */
const PLACED_INTERVAL_MS = 250;

const ANSWER_S = `${ANSWER_HOURS * 3_600}`;

const ACTORS = '/v1.0/actors/instance';

const [port, sidecar = '', redisAddress, apiKey = '', count = '0'] = process.argv.slice(2);
const accounts = new Map([[digestOf(apiKey), INSTANCE_ACCOUNT]]);
const tally = { advanced: 0, early: 0 };
const agent = new Agent({ keepAlive: true });
const redis = createClient({ url: `redis://${redisAddress}` });
redis.on('error', (error) => process.stderr.write(`${error}\n`));
await redis.connect();

/** An actor's stored state besides history rows and answers. */
type Fields = Omit<StoredIdentity, 'model'> & { readonly account: string; readonly model: string };

/** States of active actors. The sidecar runs one call of an actor at a time. */
const active = new Map<string, Fields>();

const ajv = new Ajv({ useDefaults: true });
formats.default(ajv);
const isObservation = ajv.compile<SentObservation>(OBSERVATION);

type Reply = { readonly status: number; readonly body: string };

createServer((incoming, response) => {
  replyTo(incoming).then(
    ({ status, body }) => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(body);
    },
    (error) => response.writeHead(500).end(String(error)),
  );
}).listen(Number(port), '127.0.0.1');

let isFilled = false;
await createAll();
isFilled = true;

async function replyTo(incoming: IncomingMessage): Promise<Reply> {
  const { pathname, searchParams } = new URL(incoming.url ?? '', 'http://127.0.0.1');
  const [, kind, , id = '', , method] = pathname.split('/');
  const sent = await text(incoming);
  if (kind === 'actors' && method === 'process') return processed(id, sent, incoming);
  if (kind === 'actors' && method === 'create') return created(id, Number(sent));
  if (kind === 'actors' && incoming.method === 'DELETE') active.delete(id);
  if (pathname === '/dapr/config') return ok(JSON.stringify({ entities: ['instance'] }));
  if (pathname === '/metrics') {
    const { advanced, early } = tally;
    const body = `identity_cycles_total ${advanced}\nidentity_throttled_total ${early}\n`;
    return { status: isFilled ? 200 : 503, body };
  }
  if (pathname !== '/v1/instances') return ok('{}');
  const [limit = 0, offset = 0] = ['limit', 'offset'].map((name) => Number(searchParams.get(name)));
  return ok(JSON.stringify({ data: await list(limit, offset) }));
}

async function created(id: string, instance: number): Promise<Reply> {
  const { version, model } = firstIdentity(instance);
  const account = INSTANCE_ACCOUNT;
  const fields = { account, version, observedAtMs: undefined, model: modelText(model) };
  await write(id, [{ key: 'state', value: fields }]);
  return ok('{}');
}

async function processed(id: string, body: string, { headers }: IncomingMessage): Promise<Reply> {
  const { authorization = '', 'idempotency-key': key } = headers;
  const account = accounts.get(digestOf(authorization.slice('Bearer '.length)));
  if (account === undefined) return refusal(401, 'unauthorized');
  const observation: unknown = JSON.parse(body);
  if (!isObservation(observation)) return refusal(400, 'invalid_request');
  const fields = active.get(id) ?? (await read<Fields>(id, 'state'));
  if (fields?.account !== account) return refusal(404, 'not_found');
  const idempotency =
    typeof key === 'string' ? { key, fingerprint: fingerprintOf(observation) } : undefined;
  const answered = idempotency && (await read<StoredAnswer>(id, `answer ${idempotency.key}`));
  if (idempotency !== undefined && answered !== undefined) {
    const replay = replayOf(answered, idempotency);
    return replay === 'reused' ? refusal(400, 'idempotency_key_reused') : ok(`${replay.body}`);
  }
  const model = modelOf(Buffer.from(fields.model, 'base64'));
  const cycle = observe(id, { ...fields, model }, observation);
  if (cycle === undefined) {
    tally.early += 1;
    return refusal(409, 'too_early');
  }
  const { next, mode, signal, confidence, contextJson, answer } = cycle;
  const { version, observedAtMs } = next;
  const after = { account, version, observedAtMs, model: modelText(next.model) };
  const row = [observedAtMs, mode, signal, confidence, contextJson];
  const writes: Write[] = [
    { key: 'state', value: after },
    { key: `history ${version}`, value: row },
  ];
  if (idempotency !== undefined) {
    const { fingerprint } = idempotency;
    const value = { fingerprint, body: answer.body, etag: answer.etag };
    writes.push({ key: `answer ${idempotency.key}`, value, metadata: { ttlInSeconds: ANSWER_S } });
  }
  // After a failed write the stored state is unknown: the next call reads the state.
  active.delete(id);
  await write(id, writes);
  active.set(id, after);
  tally.advanced += 1;
  return ok(`${answer.body}`);
}

function ok(body: string): Reply {
  return { status: 200, body };
}

function refusal(status: number, error: string): Reply {
  return { status, body: JSON.stringify({ error }) };
}

function modelText(model: Float64Array): string {
  return bytesOf(model).toString('base64');
}

type Write = { readonly key: string; readonly value: unknown; readonly metadata?: object };

/** Stores values of an actor in one transaction. */
async function write(id: string, values: readonly Write[]): Promise<void> {
  const operations = values.map((value) => ({ operation: 'upsert', request: value }));
  const { status, body } = await send('POST', `/${id}/state`, JSON.stringify(operations));
  if (status !== 204) throw new Error(`${id}: the transaction answered ${status}: ${body}`);
}

async function read<Value>(id: string, key: string): Promise<Value | undefined> {
  const { status, body } = await send('GET', `/${id}/state/${encodeURIComponent(key)}`);
  if (status === 204) return undefined;
  if (status !== 200) throw new Error(`${id}: reading ${key} answered ${status}: ${body}`);
  return JSON.parse(body);
}

function send(method: string, path: string, body?: string): Promise<Reply> {
  const { promise, resolve, reject } = Promise.withResolvers<Reply>();
  const headers = { 'content-type': 'application/json' };
  const sent = request(`${sidecar}${ACTORS}${path}`, { method, agent, headers }, (response) => {
    text(response).then((answer) => {
      resolve({ status: response.statusCode ?? 0, body: answer });
    }, reject);
  });
  sent.on('error', reject);
  sent.end(body);
  return promise;
}

async function createAll(): Promise<void> {
  let next = 0;
  const creator = async (): Promise<void> => {
    for (let i = next++; i < Number(count); i = next++) {
      const create = () => send('PUT', `/${instanceId(i)}/method/create`, `${i}`);
      while ((await create().catch(() => undefined))?.status !== 200) {
        await sleep(PLACED_INTERVAL_MS);
      }
    }
  };
  await Promise.all(Array.from({ length: CREATED_AT_ONCE }, creator));
}

/** A page of instances with their number of history rows, counted in Redis. */
async function list(limit: number, offset: number) {
  const ids = Array.from({ length: limit }, (_, i) => offset + i).filter((i) => i < Number(count));
  const rows = new Map(ids.map((i) => [instanceId(i), 0]));
  // Keys: application, actor type, actor id and name, separated by two bars.
  for await (const keys of redis.scanIterator({ MATCH: '*||history *', COUNT: 10_000 })) {
    for (const key of keys) {
      const [, , id = ''] = key.split('||');
      const known = rows.get(id);
      if (known !== undefined) rows.set(id, known + 1);
    }
  }
  return [...rows].map(([id, cycle_count]) => ({ id, cycle_count }));
}
