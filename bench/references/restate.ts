import { once } from 'node:events';
import { createServer } from 'node:http';
import * as http2 from 'node:http2';
import * as restate from '@restatedev/restate-sdk';
import { Ajv } from 'ajv';
import formats from 'ajv-formats';
import { digestOf } from '#accounts/api-key';
import {
  firstIdentity,
  INSTANCE_ACCOUNT,
  instanceId,
  observe,
  type SentObservation,
} from '#bench/references/identity';
import { bytesOf, modelOf } from '#bench/references/rows';
import { OBSERVATION } from '#bench/references/schemas';
import { ANSWER_HOURS } from '#bench/references/store';

// Reference (restate): a virtual object per instance. Restate's server accepts the HTTP call, keeps
// state, history and answers, and calls the handler in this process. The server's ingress handles
// `Idempotency-Key`. Model and answer format are the service's. No limiter.
//
// Usage: node bench/references/restate.ts <port> <port for the server> <ingress URL> <admin URL>
// <API key> <number of instances>

/** Calls in flight when instances are created. */
const CREATED_AT_ONCE = 64;

const ANSWER_MS = ANSWER_HOURS * 3_600_000;

const [port, endpointPort, ingress, admin, apiKey = '', count = '0'] = process.argv.slice(2);
const accounts = new Map([[digestOf(apiKey), INSTANCE_ACCOUNT]]);
const tally = { advanced: 0, early: 0 };

/** State of an instance besides its history rows, which have names such as `history 12`. */
type Fields = {
  readonly account: string;
  readonly version: number;
  readonly observedAtMs?: number | undefined;
  readonly model: string;
};

const ajv = new Ajv({ useDefaults: true });
formats.default(ajv);
const isObservation = ajv.compile<SentObservation>(OBSERVATION);

/** Answers are JSON text, rendered once by the model. */
const text: restate.Serde<string> = {
  contentType: 'application/json',
  serialize: (body) => Buffer.from(body, 'latin1'),
  deserialize: (bytes) => Buffer.from(bytes).toString('latin1'),
};

function modelText(model: Float64Array): string {
  return bytesOf(model).toString('base64');
}

async function create(context: restate.ObjectContext, instance: number): Promise<void> {
  if ((await context.get<Fields>('state')) !== null) return;
  const { version, model } = firstIdentity(instance);
  context.set<Fields>('state', { account: INSTANCE_ACCOUNT, version, model: modelText(model) });
}

async function processed(context: restate.ObjectContext, sent: unknown): Promise<string> {
  const authorization = context.request().headers.get('authorization') ?? '';
  const account = accounts.get(digestOf(authorization.slice('Bearer '.length)));
  if (account === undefined) throw new restate.TerminalError('unauthorized', { errorCode: 401 });
  if (!isObservation(sent)) throw new restate.TerminalError('invalid_request', { errorCode: 400 });
  const fields = await context.get<Fields>('state');
  if (fields?.account !== account) {
    throw new restate.TerminalError('not_found', { errorCode: 404 });
  }
  const { version, observedAtMs } = fields;
  const stored = { version, observedAtMs, model: modelOf(Buffer.from(fields.model, 'base64')) };
  // A handler must be deterministic: without a timestamp, the time comes from the journal.
  const timestamp = sent.timestamp ?? new Date(await context.date.now()).toISOString();
  const cycle = observe(context.key, stored, { ...sent, timestamp });
  if (cycle === undefined) {
    tally.early += 1;
    throw new restate.TerminalError('too_early', { errorCode: 409 });
  }
  const { next, mode, signal, confidence, contextJson, answer } = cycle;
  const state = { account, version: next.version, observedAtMs: next.observedAtMs };
  context.set<Fields>('state', { ...state, model: modelText(next.model) });
  context.set(`history ${next.version}`, [
    next.observedAtMs,
    mode,
    signal,
    confidence,
    contextJson,
  ]);
  tally.advanced += 1;
  return `${answer.body}`;
}

const instance = restate.object({
  name: 'instance',
  handlers: {
    create: restate.handlers.object.exclusive({}, create),
    process: restate.handlers.object.exclusive({ output: text }, processed),
  },
  // Lazy state: a call loads the present state and not the history.
  options: { enableLazyState: true, idempotencyRetention: ANSWER_MS, journalRetention: 0 },
});

const endpoint = http2.createServer(restate.createEndpointHandler({ services: [instance] }));
await once(endpoint.listen(Number(endpointPort), '127.0.0.1'), 'listening');
await send(`${admin}/deployments`, { uri: `http://127.0.0.1:${endpointPort}` });
await createAll();
createServer((request, response) => {
  answerOf(new URL(request.url ?? '', 'http://127.0.0.1')).then(
    (answer) => response.end(answer),
    (error) => response.writeHead(503).end(String(error)),
  );
}).listen(Number(port), '127.0.0.1');

async function answerOf({ pathname, searchParams }: URL): Promise<string> {
  if (pathname === '/metrics') {
    return `identity_cycles_total ${tally.advanced}\nidentity_throttled_total ${tally.early}\n`;
  }
  const [limit, offset] = ['limit', 'offset'].map((name) => Number(searchParams.get(name)));
  return JSON.stringify({ data: await list(limit ?? 0, offset ?? 0) });
}

async function createAll(): Promise<void> {
  let next = 0;
  const creator = async (): Promise<void> => {
    for (let i = next++; i < Number(count); i = next++) {
      await send(`${ingress}/instance/${instanceId(i)}/create`, i);
    }
  };
  await Promise.all(Array.from({ length: CREATED_AT_ONCE }, creator));
}

/** A page of instances with their number of history rows, from Restate's stored state. */
async function list(limit: number, offset: number): Promise<unknown> {
  const ids = Array.from({ length: limit }, (_, i) => offset + i).filter((i) => i < Number(count));
  const keys = ids.map((i) => `'${instanceId(i)}'`).join();
  const query = `SELECT service_key AS id, count(*) AS cycle_count FROM state
    WHERE service_name = 'instance' AND service_key IN (${keys}) AND key LIKE 'history %'
    GROUP BY service_key`;
  const { rows } = (await send(`${admin}/query`, { query })) as { rows: unknown };
  return rows;
}

async function send(url: string, body: unknown): Promise<unknown> {
  const headers = { 'content-type': 'application/json', accept: 'application/json' };
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
  const answer = await response.text();
  if (!response.ok) throw new Error(`${url} answered ${response.status}: ${answer}`);
  return answer === '' ? undefined : JSON.parse(answer);
}
