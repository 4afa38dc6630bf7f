import {
  type BufferOptions,
  IdentityEngine,
  type Observation,
  ObservationBuffer,
} from '../../src/identity-engine.ts';
import { randomOf, VirtualClock } from './virtual-clock.ts';

/** A request for a batch, as it came. */
export type Sent = {
  /** The clock of the scene. */
  readonly clock: VirtualClock;
  readonly atMs: number;
  /** When by the steady clock, since the beginning. */
  readonly steadyMs: number;
  /** The body. */
  readonly text: string;
  readonly instanceId: string;
  readonly key: string;
  readonly observations: readonly Observation[];
};
/** What the service answers to a batch. */
export type Reply = (sent: Sent) => Response | Promise<Response>;

/** When a scene begins, in Unix milliseconds. */
export const START_MS = Date.UTC(2026, 0, 15, 12);

/** A buffer in virtual time, on a service whose n-th answer is the n-th reply; the last one goes on. */
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
  return { clock, sent, client, buffer: new ObservationBuffer(client, options, clock) };
}

/** What every answer of the service has. */
const OF_SERVICE = { 'x-request-id': 'req_of_the_scene' };

/** A batch that is durable. */
export function done({ observations }: Pick<Sent, 'observations'>, headers = {}): Response {
  const data = { processed_count: observations.length, contract: {} };
  return new Response(JSON.stringify({ data }), { headers: { ...OF_SERVICE, ...headers } });
}

/** A refusal of the service. */
export function refused(status: number, error: string, details = {}, headers = {}): Reply {
  const text = JSON.stringify({ error, message: error, details });
  return () => new Response(text, { status, headers: { ...OF_SERVICE, ...headers } });
}

/** An observation that is known by its number. */
export function observation(number: number, timestamp?: string): Observation {
  const context = { number };
  const own = timestamp === undefined ? {} : { timestamp };
  return { mode_target: 'ORDER', signal_strength: 0.5, context, ...own };
}

/** The numbers of a batch. */
export const numbersOf = ({ observations }: Pick<Sent, 'observations'>) =>
  observations.map(({ context }) => context?.['number']);
/** The timestamps of a batch, in seconds of the scene. */
export const timesOf = ({ observations }: Pick<Sent, 'observations'>) =>
  observations.map(({ timestamp }) => (Date.parse(timestamp ?? '') - START_MS) / 1_000);
