import { status } from '@grpc/grpc-js';

/**
 * Bounds of the wire, with units and reasons. At a bound, calls fail immediately (architecture
 * 3.7).
 */

/** Maximum size of a request frame, in bytes: gRPC's default, and many times the largest batch. */
export const REQUEST_FRAME_BYTES_MAX = 4 * 1_024 * 1_024;

/** Maximum size of a reply frame, in bytes. Many times the largest page (decision 162). */
export const REPLY_FRAME_BYTES_MAX = 16 * 1_024 * 1_024;

/**
 * Target size of a frame, in bytes. Large enough to amortize the cost of a frame, small enough to
 * buffer.
 */
export const FRAME_BYTES_TARGET = 256 * 1_024;

/**
 * Maximum number of messages in one frame: as many of the smallest messages as fit into the target
 * size.
 */
export const FRAME_MESSAGES_MAX = 16_384;

/**
 * Maximum number of unanswered calls per client, sent or not. Enough for 40,000 calls per second of
 * 0.1 s each, plus the 2,000 calls with which an edge waits for events (decision 244).
 */
export const CLIENT_CALLS_IN_FLIGHT_MAX = 6_144;

/**
 * Maximum number of unanswered calls per server stream. Above the client's bound, so that the
 * client's bound takes effect first.
 */
export const SERVER_CALLS_IN_FLIGHT_MAX = 8_192;

/**
 * Maximum size of replies buffered for a client that does not read them, in bytes: four of the
 * largest frames.
 */
export const REPLIES_HELD_BYTES_MAX = 4 * REPLY_FRAME_BYTES_MAX;

/** Maximum duration of a call to an engine, in milliseconds. Source: architecture 3.5. */
export const CALL_TIMEOUT_MS_MAX = 10_000;

/**
 * Timeout of a delivery by a courier, in milliseconds: the 10 s of an endpoint, and room for the
 * way to the courier and back.
 */
export const COURIER_MS_MAX = 11_500;

/** Timeout of an admission by the limiter, in milliseconds. Source: architecture 4. */
export const LIMITER_TIMEOUT_MS = 100;

/**
 * Timeout of an account call to a limiter, in milliseconds. Also the upper bound for any call.
 * Longer than the timeouts of the limiter's stores and the 8 s of a payment provider (decision
 * 248).
 */
export const ACCOUNT_CALL_MS_MAX = 12_000;

/** Maximum length of an account call's body as JSON, in characters. */
export const ACCOUNT_QUESTION_LENGTH_MAX = 512 * 1_024;

/** Maximum length of an account call's answer, in characters: a page of the longest lines. */
export const ACCOUNT_ANSWER_LENGTH_MAX = 2 * 1_024 * 1_024;

/** Period of the deadline sweep, in milliseconds: a tenth of the shortest timeout. */
export const DEADLINE_SWEEP_MS = 10;

/** Timeout of a connection attempt, in milliseconds. Long enough for TCP's first two retries. */
export const CONNECT_TIMEOUT_MS = 3_000;

/** First ceiling of the reconnect backoff, in milliseconds. Full jitter applies below it. */
export const BACKOFF_BASE_MS = 50;

/** Maximum ceiling of the reconnect backoff, in milliseconds. */
export const BACKOFF_CAP_MS = 2_000;

/** Silence after which a peer is pinged, in milliseconds. */
export const KEEPALIVE_TIME_MS = 2_000;

/**
 * The same for a connection that is held open without calls, in milliseconds. Longer, because a
 * process that is killed before it reads a ping seems to be reset.
 */
export const HELD_KEEPALIVE_MS = 20_000;

/** Timeout of the answer to a ping, in milliseconds. */
export const KEEPALIVE_TIMEOUT_MS = 3_000;

/** Flow-control window of a client, in bytes. Enough for several hundred answers of 1.5 kB. */
export const FLOW_WINDOW_BYTES = 1_024 * 1_024;

/**
 * Maximum number of concurrent streams and unary calls per connection: one stream, and calls of a
 * few tools.
 */
export const STREAMS_PER_CONNECTION_MAX = 64;

/** Default time that a stopping server waits for calls in flight, in milliseconds. */
export const STOP_GRACE_MS = 5_000;

/**
 * Maximum length of an id, digest or ETag, in UTF-16 units. An idempotency key may have 255
 * (decision 22).
 */
export const TOKEN_LENGTH_MAX = 255;

/** Maximum length of a caller's address as text, in UTF-16 units. No valid address is longer. */
export const ADDRESS_LENGTH_MAX = 64;

/** Maximum length of a client program's name, in UTF-16 units. */
export const CLIENT_LENGTH_MAX = 120;

/** Maximum call id and tag, below 2^52. Source: engine-messages, limiter-messages. */
export const CALL_ID_MAX = 2 ** 52 - 1;

/** Maximum number of cycles that a call to an engine advances: the largest batch. */
export const CYCLES_MAX = 100;

/** Maximum number of cycles that a limiter admits at once: a fleet call. */
export const ADMITTED_CYCLES_MAX = 1_000;

/** Maximum number of requests that a call counts as: one for each 100 observations. */
export const ADMITTED_REQUESTS_MAX = 10;

/** Maximum time of an ECMAScript date, in Unix milliseconds (ECMA-262). */
export const TIME_MS_MAX = 8.64e15;

/** Number of modes in the model. Source: interface 2.2. */
export const MODE_COUNT = 7;

/** Maximum length of a name: 100 code points (interface 2.4), in UTF-16 units. */
export const NAME_LENGTH_MAX = 200;

/** Maximum length of a description: 2,000 code points, in UTF-16 units. */
export const DESCRIPTION_LENGTH_MAX = 4_000;

/** Maximum number of tags of an instance. Source: interface 2.4. */
export const TAGS_MAX = 16;

/** Maximum length of the key of a tag, in code points. Source: interface 2.4. */
export const TAG_KEY_MAX = 64;

/** Maximum length of the value of a tag, in code points. Source: interface 2.4. */
export const TAG_VALUE_MAX = 256;

/** Maximum length of tags as JSON text, in UTF-16 units. A code point has at most six (`\u0001`). */
export const TAGS_LENGTH_MAX =
  '{}'.length + TAGS_MAX * (6 * (TAG_KEY_MAX + TAG_VALUE_MAX) + '"":"",'.length);

/** Maximum length of an id, in UTF-16 units. */
export const ID_LENGTH_MAX = 255;

/** Maximum size of a model's state, in bytes: several times the state of the present model. */
export const STATE_BYTES_MAX = 8_192;

/** Upper bound for the fixed-size fields, tags and ids of one message, in bytes, rounded up. */
export const MESSAGE_BYTES = 4_096;

/**
 * Error for a peer that does not serve `service`. Such a peer has another wire generation, which is
 * part of the package name (`identity_engine.v1`). Undefined if the connection failed for another
 * reason. Source: decision 239.
 */
export function otherGeneration(
  cause: unknown,
  service: string,
  address: string,
): Error | undefined {
  const isStatus = typeof cause === 'object' && cause !== null && 'code' in cause;
  if (!isStatus || cause.code !== status.UNIMPLEMENTED) return undefined;
  const why = 'its release cannot run together with this release';
  return new Error(`${address} does not serve ${service}: ${why}`, { cause });
}
