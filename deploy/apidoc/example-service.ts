import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { setTimeout } from 'node:timers/promises';
import { AuditTrail } from '#audit/trail';
import { signatureOf } from '#billing/signed-notification';
import { readConfig } from '#config';
import { type AppConfig, buildApp, composeEdge, type EdgePorts } from '#edge/app';
import { composeEngine } from '#engine/engine-node';
import { composeLimiter, type Limiter } from '#limiter/limiter-node';
import { openBillingDesk } from '#startup/limiter';
import { openStores } from '#startup/ports';
import { foundationOf } from '#startup/process/dependencies';
import { type Clock, systemClock } from '#stdlib/clock';
import { unchanging } from '#stdlib/files';
import { type Randomness, randomnessFrom } from '#stdlib/randomness';
import type { Running } from '#stdlib/run';
import { createLogger } from '#telemetry/logger';
import { createMetrics } from '#telemetry/metrics';

/** Request id of all examples. */
export const EXAMPLE_REQUEST_ID = 'req_0f2a6c1e9b7d4835a1c0e4f6b8d2937a';

/** Settings of the local payment provider, which takes no money. */
const BILLING = {
  SERVICE_BILLING_PROVIDER: 'local',
  SERVICE_BILLING_WEBHOOK_SECRET: 'whsec_only_for_examples',
};

type SetPlan = Parameters<Limiter['admin']['setPlan']>;

/** Start of the examples' clock: an ordinary day after the release. */
const START_MS = Date.UTC(2026, 0, 15, 12);

/** Limits of actors. The example evicts no actor. */
const ACTORS = { idleAgeMs: 3_600_000, memoryBytesMax: 64 * 1_024 * 1_024 };

/** A request to the example service. */
export type ExampleRequest = {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  readonly url: string;
  readonly headers?: Record<string, string>;
  /** A string is sent unchanged, any other value as JSON. */
  readonly body?: unknown;
};

/** An answer of the example service. */
export type ExampleReply = {
  readonly status: number;
  readonly etag: string;
  readonly body: ReturnType<typeof JSON.parse>;
};

/**
 * The whole service in memory without sockets, with a manual clock and a seeded random generator.
 * Equal requests get equal answers in every run.
 */
export type ExampleService = AsyncDisposable & {
  readonly admin: Limiter['admin'];
  ask(request: ExampleRequest): Promise<ExampleReply>;
  /** The payment provider's signature header for a body, at the current time. */
  signatureOf(body: string): string;
  /** Advances the clock. */
  wait(ms: number): void;
  /** Fulfils when all changes so far are in the log of their account. */
  recorded(): Promise<void>;
  /** Fulfils when this number of messages was delivered to webhook endpoints. */
  delivered(count: number): Promise<void>;
  /** The same service with replaced parts. */
  broken(parts: Partial<EdgePorts>): Pick<ExampleService, 'ask'>;
  /** The same service on a loopback socket, with replaced parts. */
  listen(parts?: Partial<EdgePorts>): Promise<Running>;
};

/** Outcome of all deliveries. */
const DELIVERED = {
  ...({ kind: 'answered', status: 200, retryAfter: undefined } as const),
  shown: { contentType: 'application/json', text: '{"received":true}', isCut: false },
};

/** Interval at which `recorded` looks, in milliseconds. */
const LOOK_MS = 5;

const EDGE: AppConfig = {
  clusterSecrets: unchanging(['only for examples']),
  trustedProxies: [],
  drainMs: 0,
};

/** Opens the example service. */
export async function openExampleService(): Promise<ExampleService> {
  await using opening = new AsyncDisposableStack();
  let nowMs = START_MS;
  const clock: Clock = {
    wallMs: () => nowMs,
    monotonicMs: () => nowMs - START_MS,
    after: systemClock.after,
  };
  const config = readConfig(BILLING);
  const foundation = foundationOf(config, 'examples');
  const stores = await openStores(config, foundation);
  if (stores.kind !== 'local')
    throw new Error('examples need storage in memory: unset SERVICE_STORAGE');
  const randomness = repeatable();
  const onBug = (error: unknown) => {
    throw error;
  };
  const ports = { clock, randomness, onBug, metrics: createMetrics() };
  const audit = new AuditTrail({ store: stores.audit, clock });
  const admin = { setPlan: (...plan: SetPlan) => limiter.admin.setPlan(...plan) };
  const desk = await openBillingDesk(config, { ...foundation, clock }, { stores, admin, audit });
  const limiterPorts = {
    ...stores,
    ...ports,
    audit,
    billingDesk: desk,
    accountNews: undefined,
    journal: stores.meterJournal,
  };
  const limiter: Limiter = opening.use(composeLimiter(ACTORS, limiterPorts));
  let delivered = 0;
  const courier = {
    ask: async () => {
      delivered += 1;
      return DELIVERED;
    },
  };
  const enginePorts = { ...stores, ...ports, courier, journal: stores.engineJournal };
  const engine = opening.use(composeEngine(ACTORS, enginePorts));
  const logger = createLogger('silent', { role: 'example', node: 'example', release: '' });
  const edgePorts: EdgePorts = { ...ports, engine, limiter: limiter.client, logger };
  const opened = opening.move();
  return {
    admin: limiter.admin,
    signatureOf: (body) => signatureOf(body, BILLING.SERVICE_BILLING_WEBHOOK_SECRET, nowMs),
    wait: (ms) => {
      nowMs += ms;
    },
    async recorded() {
      while (engine.unrecorded.bytes > 0) await setTimeout(LOOK_MS);
    },
    async delivered(count) {
      do await setTimeout(LOOK_MS);
      while (delivered < count);
    },
    ask: askerOf(edgePorts),
    broken: (parts) => ({ ask: askerOf({ ...edgePorts, ...parts, metrics: createMetrics() }) }),
    listen: (parts) => {
      const listening = { ...EDGE, host: '127.0.0.1', port: 0, isDocumented: false };
      return composeEdge(listening, { ...edgePorts, ...parts, metrics: createMetrics() });
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

function askerOf(ports: EdgePorts) {
  const app = buildApp(EDGE, ports);
  return async ({ method, url, headers, body }: ExampleRequest): Promise<ExampleReply> => {
    const type = body === undefined ? {} : { 'content-type': 'application/json' };
    const payload = typeof body === 'string' ? body : JSON.stringify(body);
    const response = await app.inject({
      payloadAsStream: true,
      method,
      url: `/v1${url}`,
      headers: { ...type, 'x-request-id': EXAMPLE_REQUEST_ID, ...headers },
      ...(payload === undefined ? {} : { payload }),
    });
    const { statusCode: status, headers: sent } = response;
    const isEndless = String(sent['content-type']).startsWith('text/event-stream');
    const answered = isEndless
      ? await beginningOf(response.stream())
      : await text(response.stream());
    return {
      status,
      etag: String(sent['etag'] ?? ''),
      body: isEndless ? answered : answered === '' ? undefined : JSON.parse(answered),
    };
  };
}

/** Reads an event stream up to its `state` event, which comes last. */
async function beginningOf(stream: Readable): Promise<string> {
  // The stream never ends. Leaving the loop destroys the stream.
  stream.on('error', () => undefined);
  let begun = '';
  for await (const chunk of stream) {
    begun += chunk;
    if (begun.includes('event: state')) break;
  }
  return begun;
}

/**
 * Random bytes from a linear congruential generator with a fixed seed (Numerical Recipes). Never
 * use these bytes for secrets.
 */
function repeatable(): Randomness {
  let seed = 7;
  const bytes = (count: number) =>
    Uint8Array.from({ length: count }, () => {
      seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0;
      return seed >>> 24;
    });
  return randomnessFrom(bytes);
}
