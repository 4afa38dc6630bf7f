import {
  type BufferOptions,
  IdentityEngine,
  type Observation,
  ObservationBuffer,
} from '../../src/identity-engine.ts';
import { randomOf, VirtualClock } from './virtual-clock.ts';

/** A received batch request. */
export type Sent = {
  /** Clock of the scene. */
  readonly clock: VirtualClock;
  readonly atMs: number;
  /** Time since the start, by the monotonic clock. */
  readonly steadyMs: number;
  /** Request body. */
  readonly text: string;
  readonly instanceId: string;
  readonly key: string;
  readonly observations: readonly Observation[];
};
/** The service's answer to a batch. */
export type Reply = (sent: Sent) => Response | Promise<Response>;

/** Scene start, in Unix milliseconds. */
export const START_MS = Date.UTC(2026, 0, 15, 12);

/**
 * A buffer in virtual time, by default without fleet calls. Request n gets reply n; the last reply
 * repeats.
 */
export function sceneOf(options: BufferOptions = {}, ...replies: Reply[]) {
  const clock = new VirtualClock(randomOf(1), START_MS);
  const sent: Sent[] = [];
  const fetch = async (url: string, init: RequestInit) => {
    const text = String(init.body);
    const { observations } = JSON.parse(text);
    const key = (init.headers as Record<string, string>)['idempotency-key'] ?? '';
    const instanceId = /instances\/([^/]+)\//.exec(url)?.[1] ?? '';
    const times = { atMs: clock.now() - START_MS, steadyMs: clock.steady() - START_MS };
    const request = { clock, ...times, text, instanceId, key, observations };
    sent.push(request);
    const reply = replies[Math.min(sent.length, replies.length) - 1] ?? done;
    return await reply(request);
  };
  const baseUrl = 'http://model.test/v1';
  const client = new IdentityEngine({ apiKey: 'k', baseUrl, attemptsMax: 1, fetch });
  return {
    clock,
    sent,
    client,
    buffer: new ObservationBuffer(client, { fleetCalls: false, ...options }, clock),
  };
}

/** Header that every answer of the service has. */
const OF_SERVICE = { 'x-request-id': 'req_of_the_scene' };

/** Answer for a durable batch. */
export function done({ observations }: Pick<Sent, 'observations'>, headers = {}): Response {
  const data = { processed_count: observations.length, contract: {} };
  return new Response(JSON.stringify({ data }), { headers: { ...OF_SERVICE, ...headers } });
}

/** Reply that refuses a batch. */
export function refused(status: number, error: string, details = {}, headers = {}): Reply {
  const text = JSON.stringify({ error, message: error, details });
  return () => new Response(text, { status, headers: { ...OF_SERVICE, ...headers } });
}

/** An observation identified by its number. */
export function observation(number: number, timestamp?: string): Observation {
  const context = { number };
  const own = timestamp === undefined ? {} : { timestamp };
  return { mode_target: 'ORDER', signal_strength: 0.5, context, ...own };
}

/** Observation numbers of a batch. */
export const numbersOf = ({ observations }: Pick<Sent, 'observations'>) =>
  observations.map(({ context }) => context?.['number']);
/** Timestamps of a batch, in seconds since the start. */
export const timesOf = ({ observations }: Pick<Sent, 'observations'>) =>
  observations.map(({ timestamp }) => (Date.parse(timestamp ?? '') - START_MS) / 1_000);
