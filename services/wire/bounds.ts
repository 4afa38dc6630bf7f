import { status } from '@grpc/grpc-js';

/** Every bound of the wire with unit and reason. Full means a fault at once (architecture 3.7). */

/** Largest frame of requests, in bytes: gRPC's default; many times the largest batch. */
export const REQUEST_FRAME_BYTES_MAX = 4 * 1_024 * 1_024;

/** Largest frame of replies, in bytes: many times the largest page (decision 162). */
export const REPLY_FRAME_BYTES_MAX = 16 * 1_024 * 1_024;

/** A frame with this many bytes is closed: large enough to spread its cost, small to hold. */
export const FRAME_BYTES_TARGET = 256 * 1_024;

/** Messages read from one frame: what the smallest of them fill of a frame of the target size. */
export const FRAME_MESSAGES_MAX = 16_384;

/**
 * Calls waiting for an answer per client, sent or not: a tenth of a second at 40,000 a second, and the
 * 2,000 with which an edge waits for events (decision 244).
 */
export const CLIENT_CALLS_IN_FLIGHT_MAX = 6_144;

/** Calls without an answer per stream of a server: more than a client's, which is met first. */
export const SERVER_CALLS_IN_FLIGHT_MAX = 8_192;

/** Answers held for one client that does not read them, in bytes: four of the largest frames. */
export const REPLIES_HELD_BYTES_MAX = 4 * REPLY_FRAME_BYTES_MAX;

/** The longest a call of an engine may take, in milliseconds. Source: architecture 3.5. */
export const CALL_TIMEOUT_MS_MAX = 10_000;

/** How long the limiter may take to answer, in milliseconds. Source: architecture 4. */
export const LIMITER_TIMEOUT_MS = 100;

/**
 * How long a limiter may take to answer an account's question, in milliseconds, and so any server any
 * call: longer than its stores, and than the 8 s of a payment provider (decision 248).
 */
export const ACCOUNT_CALL_MS_MAX = 12_000;

/** Characters of an account's question, as JSON. */
export const ACCOUNT_QUESTION_LENGTH_MAX = 512 * 1_024;

/** Characters of the answer to one: a page of the longest lines. */
export const ACCOUNT_ANSWER_LENGTH_MAX = 2 * 1_024 * 1_024;

/** How often deadlines are looked at, in milliseconds: a tenth of the shortest of them. */
export const DEADLINE_SWEEP_MS = 10;

/** When a connection that is not open has failed, in milliseconds: TCP's first two retries. */
export const CONNECT_TIMEOUT_MS = 3_000;

/** First ceiling of the wait before a reconnect, in milliseconds; full jitter below it. */
export const BACKOFF_BASE_MS = 50;

/** Largest ceiling of that wait, in milliseconds. */
export const BACKOFF_CAP_MS = 2_000;

/** Silence after which a peer is asked for a sign of life, in milliseconds. */
export const KEEPALIVE_TIME_MS = 2_000;

/** The time it has to give one, in milliseconds. */
export const KEEPALIVE_TIMEOUT_MS = 3_000;

/** Flow-control window of a client, in bytes: answers of 1.5 kB to several hundred calls. */
export const FLOW_WINDOW_BYTES = 1_024 * 1_024;

/** Streams and unary calls at once on one connection to a server: one stream and a few tools. */
export const STREAMS_PER_CONNECTION_MAX = 64;

/** How long a server that stops waits for calls in flight, in milliseconds by default. */
export const STOP_GRACE_MS = 5_000;

/** Longest id, digest or ETag, in UTF-16 units; an idempotency key may have 255 (decision 22). */
export const TOKEN_LENGTH_MAX = 255;

/** Longest text of a caller's address, in UTF-16 units: what is longer is none. */
export const ADDRESS_LENGTH_MAX = 64;

/** Longest name of a caller's program, in UTF-16 units. */
export const CLIENT_LENGTH_MAX = 120;

/** Call ids and tags are below 2^52. Source: engine-messages, limiter-messages. */
export const CALL_ID_MAX = 2 ** 52 - 1;

/** Cycles of one call. */
export const CYCLES_MAX = 100;

/** Fields of fixed size, tags and ids of one message, in bytes, rounded up. */
export const MESSAGE_BYTES = 4_096;

/**
 * Why a connection was refused whose peer does not serve `service`: it speaks another generation of
 * the wire, which the package of a service names (`identity_engine.v1`). Undefined: for another reason.
 * Source: decision 239.
 */
export function otherGeneration(
  cause: unknown,
  service: string,
  address: string,
): Error | undefined {
  const isStatus = typeof cause === 'object' && cause !== null && 'code' in cause;
  if (!isStatus || cause.code !== status.UNIMPLEMENTED) return undefined;
  const why = 'it is of a release too far from this one';
  return new Error(`${address} does not serve ${service}: ${why}`, { cause });
}
