import type { BatchObservation } from '../../src/identity-engine.ts';
import type { VirtualClock } from './virtual-clock.ts';

type Stored = { readonly body: string; readonly answer: () => Response };
type Instance = {
  lastMs: number;
  readonly accepted: number[];
  /** Observations by key, as sent. */
  readonly items: Map<string, string>;
};

/** Faults of a model server. */
export type Faults = {
  /** Share of calls with a fault, from 0 to 1. */
  readonly rate: number;
  /** Lead of the server's clock over the callers' clock, in milliseconds. */
  readonly skewMs: number;
};

/** Maximum number of observations per batch. */
const BATCH_MAX = 100;
/** Maximum lead of a timestamp over the server's clock, in milliseconds. */
const AHEAD_MS_MAX = 300_000;
const INTERVAL_MS = 1_000;

/**
 * Model of the service's batch route, in memory and virtual time: keys, intervals, timestamp rules,
 * atomicity. Injects faults: loses requests before or after applying the batch, applies batches
 * late, refuses calls and restarts.
 */
export class ModelServer {
  readonly #clock: VirtualClock;
  readonly #random: () => number;
  readonly #instances = new Map<string, Instance>();
  readonly #keys = new Map<string, Stored>();
  #faults: Faults;
  #epoch = 0;
  /** Number of received requests. */
  requests = 0;

  constructor(clock: VirtualClock, random: () => number, faults: Faults) {
    this.#clock = clock;
    this.#random = random;
    this.#faults = faults;
  }

  /** Creates an instance whose newest observation has this time. */
  create(id: string, lastMs: number): void {
    this.#instances.set(id, { lastMs, accepted: [], items: new Map() });
  }

  /** Numbers of an instance's accepted observations, in order. */
  acceptedOf(id: string): readonly number[] {
    return this.#instances.get(id)?.accepted ?? [];
  }

  /** Disables all faults. */
  heal(): void {
    this.#faults = { ...this.#faults, rate: 0 };
  }

  /** Aborts all calls in flight. */
  restart(): void {
    this.#epoch += 1;
  }

  /** Replacement for `fetch`. */
  readonly fetch = async (url: string, init: RequestInit): Promise<Response> => {
    this.requests += 1;
    const work = this.#serve(url, init);
    const { signal } = init;
    return await new Promise<Response>((resolve, reject) => {
      signal?.addEventListener('abort', () => reject(signal.reason), { once: true });
      work.then(resolve, reject);
    });
  };

  async #serve(url: string, init: RequestInit): Promise<Response> {
    const epoch = this.#epoch;
    const [fault] = this.#random() < this.#faults.rate ? this.#pick(FAULTS) : ['well'];
    if (fault === 'refused') throw lost('ECONNREFUSED');
    await this.#clock.sleep(this.#random() * 50);
    if (fault === 'lost_before') throw lost('ECONNRESET');
    if (fault === 'late') {
      void this.#clock.sleep(this.#random() * 5_000).then(() => this.#apply(url, init));
      throw lost('ECONNRESET');
    }
    if (fault === 'overloaded' || fault === 'outcome_unknown') {
      return refusal(503, 'service_unavailable', fault);
    }
    if (fault === 'rate_limited') return refusal(429, 'rate_limited', undefined, '1');
    if (fault === 'quota') return refusal(429, 'quota_exceeded', undefined, '900');
    if (fault === 'foreign_refusal') return foreign(404);
    if (epoch !== this.#epoch) throw lost('ECONNRESET');
    const answer = this.#apply(url, init);
    await this.#clock.sleep(this.#random() * 50);
    if (fault === 'lost_after' || epoch !== this.#epoch) throw lost('ECONNRESET');
    return INSTEAD.get(fault ?? '')?.() ?? answer;
  }

  #pick<T>(values: readonly T[]): [T | undefined] {
    return [values[Math.floor(this.#random() * values.length)]];
  }

  #apply(url: string, init: RequestInit): Response {
    const body = String(init.body);
    const key = (init.headers as Record<string, string>)['idempotency-key'] ?? '';
    const stored = this.#keys.get(key);
    if (stored !== undefined) {
      if (stored.body !== body) return refusal(422, 'invalid_request', 'idempotency_key_reused');
      return stored.answer();
    }
    const instance = this.#instances.get(/instances\/([^/]+)\//.exec(url)?.[1] ?? '');
    if (instance === undefined) return refusal(404, 'not_found');
    const { observations } = JSON.parse(body) as { observations: BatchObservation[] };
    const known = observations.map((each) => instance.items.get(each.idempotency_key ?? ''));
    const reused = known.findIndex((text, at) => {
      return text !== undefined && text !== JSON.stringify(observations[at]);
    });
    if (reused >= 0) {
      const field = `observations[${reused}].idempotency_key`;
      return refusal(422, 'invalid_request', 'idempotency_key_reused', undefined, field);
    }
    const fresh = observations.filter((_, index) => known[index] === undefined);
    const fault = this.#faultOf(fresh);
    if (fault !== undefined) return fault;
    const results = (status: string) =>
      known.map((text, index) => ({ index, status: text === undefined ? status : 'replayed' }));
    const times = fresh.map(({ timestamp }) => Date.parse(timestamp ?? ''));
    const earlyMs = instance.lastMs + INTERVAL_MS - (times[0] ?? Number.POSITIVE_INFINITY);
    if (earlyMs > 0) return throttled(earlyMs, results('throttled'));
    instance.lastMs = times.at(-1) ?? instance.lastMs;
    instance.accepted.push(...fresh.map(({ context }) => Number(context?.['number'])));
    for (const each of fresh) instance.items.set(`${each.idempotency_key}`, JSON.stringify(each));
    const done = { processed_count: fresh.length, results: results('applied'), contract: {} };
    const answer = () => success(done);
    this.#keys.set(key, { body, answer });
    return answer();
  }

  /** Returns the refusal of an invalid batch; undefined for a valid batch. */
  #faultOf(observations: readonly BatchObservation[]): Response | undefined {
    if (observations.length > BATCH_MAX) {
      return refusal(422, 'invalid_request', 'too_long', undefined, 'observations');
    }
    let previousMs = Number.NEGATIVE_INFINITY;
    for (const [index, { signal_strength: strength, timestamp }] of observations.entries()) {
      const field = `observations[${index}]`;
      if (strength > 2) return refusal(422, 'invalid_request', 'too_deep');
      if (strength > 1) {
        return refusal(
          422,
          'invalid_request',
          'out_of_range',
          undefined,
          `${field}.signal_strength`,
        );
      }
      const ms = Date.parse(timestamp ?? '');
      if (ms > this.#clock.steady() + this.#faults.skewMs + AHEAD_MS_MAX) {
        return refusal(422, 'invalid_request', 'timestamp_in_future', undefined, field);
      }
      if (!(ms >= previousMs + INTERVAL_MS)) {
        return refusal(422, 'invalid_request', 'timestamp_order', undefined, field);
      }
      previousMs = ms;
    }
    return undefined;
  }
}

const FAULTS = [
  ...['refused', 'lost_before', 'lost_after', 'late', 'overloaded', 'rate_limited', 'quota'],
  ...['outcome_unknown', 'open_after', 'internal', 'page', 'foreign_refusal', 'foreign_success'],
];

/** Errors from service or proxy that replace the true answer after a call took effect. */
const INSTEAD: ReadonlyMap<string, () => Response> = new Map([
  ['internal', () => refusal(500, 'internal')],
  ['open_after', () => refusal(503, 'service_unavailable', 'deadline_exceeded')],
  ['page', () => new Response('<h1>Bad Gateway</h1>', { status: 502 })],
  ['foreign_success', () => new Response('{"data":{}}')],
]);

/** Header of every answer of the service. */
const OF_SERVICE = { 'x-request-id': 'req_of_the_model' };

function lost(code: string): TypeError {
  return new TypeError('fetch failed', { cause: Object.assign(new Error(code), { code }) });
}

/** Refusal of a gateway, similar to the service's refusals. */
function foreign(status: number): Response {
  return new Response(JSON.stringify({ error: 'Not Found', message: 'no route' }), { status });
}

function success(data: object, headers: Record<string, string> = {}): Response {
  return new Response(JSON.stringify({ data }), { headers: { ...OF_SERVICE, ...headers } });
}

/** Throttled answer; `Retry-After` counts from the first observation's timestamp. */
function throttled(earlyMs: number, results: readonly object[]): Response {
  const retryAfter = String(Math.max(1, Math.ceil(earlyMs / 1_000)));
  return success(
    { processed_count: 0, results },
    { 'x-throttled': 'true', 'retry-after': retryAfter },
  );
}

function refusal(
  status: number,
  error: string,
  reason?: string,
  retryAfter?: string,
  field?: string,
): Response {
  const details = { ...(reason && { reason }), ...(field && { field }) };
  const headers = { ...OF_SERVICE, ...(retryAfter && { 'retry-after': retryAfter }) };
  return new Response(JSON.stringify({ error, message: error, details }), { status, headers });
}
