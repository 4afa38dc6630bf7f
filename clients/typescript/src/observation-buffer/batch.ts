import { IdentityEngineError } from '../errors.ts';
import { fromJson, toJson } from '../json.ts';
import type { BatchObservation } from '../models.ts';
import { uuid7 } from '../uuid7.ts';
import type { Moment } from './buffer-clock.ts';
import { AHEAD_MS_MAX, INTERVAL_MS, timeOf } from './spacing.ts';

/** An observation in the buffer. */
export type Item = {
  /** Ordinal in the buffer, from 1. */
  readonly ordinal: number;
  /** Copy of the added observation with its key; the buffer may still have to set the timestamp. */
  readonly observation: KeyedObservation;
  /** Origin of the timestamp. The buffer never changes a timestamp that the caller set. */
  readonly timestampFrom: TimestampFrom;
  /**
   * Whether the observation may have been sent with its timestamp, which then stays until the
   * outcome is known.
   */
  readonly isFixed: boolean;
  /** Time when added, in Unix milliseconds. */
  readonly addedAtMs: number;
  /** Time when added, in monotonic milliseconds. */
  readonly addedAtSteadyMs: number;
  /** Maximum size in a request body, in bytes. */
  readonly bytes: number;
};

/** Observations of one instance sent as one call, with the same key until the outcome is known. */
export type Batch = {
  readonly idempotencyKey: string;
  readonly items: readonly Item[];
  /** Observations of the items, with the sent timestamps. */
  readonly observations: readonly KeyedObservation[];
  /** Newest timestamp in Unix milliseconds; undefined if none is valid. */
  readonly newestMs: number | undefined;
  /** Whether an attempt may have taken effect. */
  mayHaveHappened: boolean;
  /** Time of the first attempt, in Unix milliseconds. */
  sentAtMs: number | undefined;
  /** Whether a retry cannot reveal the outcome; the batch waits to be handed back. */
  isLeft: boolean;
};

/** Maximum observations per batch. Source: interface 8.4. */
export const BATCH_ITEMS_MAX = 100;

/** Maximum body of a batch, in bytes. Source: interface 8.4. */
const BODY_BYTES_MAX = 262_144;

/**
 * Maximum size, in bytes, of the JSON around all observations of a body. Also the maximum size of a
 * timestamp and a comma, which the buffer adds to each observation.
 */
const FRAME_BYTES = 64;

/** An observation with its idempotency key. */
type KeyedObservation = BatchObservation & { readonly idempotency_key: string };

/** Origin of a timestamp: the caller or the buffer set it. */
export type TimestampFrom = 'caller' | 'buffer';

/**
 * Copies an observation, so that later changes by its owner have no effect. Returns a function that
 * makes an item. Throws an `IdentityEngineError` unless the observation is an object that JSON can
 * represent.
 */
export function itemOf(observation: BatchObservation, addedAt: Moment): (ordinal: number) => Item {
  const text = toJson(observation, 'observation');
  if (!text.startsWith('{')) throw new IdentityEngineError('an observation must be an object');
  const added = fromJson(text) as BatchObservation;
  const copy = { ...added, idempotency_key: keyOf(added) };
  const bytes = new TextEncoder().encode(text).length + FRAME_BYTES;
  const { unixMs: addedAtMs, steadyMs: addedAtSteadyMs } = addedAt;
  const timestampFrom = copy.timestamp === undefined ? 'buffer' : 'caller';
  const facts = { observation: copy, timestampFrom, isFixed: false, bytes } as const;
  return (ordinal) => ({ ordinal, ...facts, addedAtMs, addedAtSteadyMs });
}

/** Valid idempotency keys (interface 7.2). */
const KEY = /^[!-~](?:[ -~]{0,253}[!-~])?$/;

/** Returns the caller's idempotency key, or a new key. */
function keyOf({ idempotency_key: key = uuid7() }: BatchObservation): string {
  if (typeof key === 'string' && KEY.test(key)) return key;
  throw new IdentityEngineError(
    'observation.idempotency_key must have 1 to 255 printable ASCII characters',
  );
}

/** Limits for cutting a batch. */
export type Cut = {
  readonly itemsMax: number;
  /** Earliest timestamp that the instance accepts, in Unix milliseconds; undefined if unknown. */
  readonly floorMs: number | undefined;
  /** Latest timestamp that may be sent now, in Unix milliseconds. */
  readonly ceilingMs: number;
};

/**
 * Cuts the next batch from the waiting observations, in order. An observation without a timestamp
 * gets the time at which it was added, but at least 1.000 s after the previous timestamp. A
 * timestamp of the caller stays unchanged. If this timestamp is too close to the previous
 * timestamp, the observation starts the next batch. Returns undefined if the first timestamp
 * exceeds the ceiling.
 */
export function cutBatch(
  waiting: readonly Item[],
  { itemsMax, floorMs, ceilingMs }: Cut,
): Batch | undefined {
  const observations: KeyedObservation[] = [];
  let [floor, bytes, newestMs] = [floorMs, FRAME_BYTES, undefined as number | undefined];
  let nextMs = Number.NEGATIVE_INFINITY;
  for (const item of waiting.slice(0, itemsMax)) {
    bytes += item.bytes;
    if (bytes > BODY_BYTES_MAX && observations.length > 0) break;
    const placed = placedAt(item, floor);
    if (placed.ms !== undefined) {
      if (placed.ms > ceilingMs || placed.ms < nextMs) break;
      newestMs = placed.ms;
      nextMs = placed.ms + INTERVAL_MS;
      floor = Math.max(floor ?? nextMs, nextMs);
    }
    observations.push({ ...item.observation, timestamp: placed.timestamp });
  }
  if (observations.length === 0) return undefined;
  return {
    ...{ idempotencyKey: uuid7(), items: waiting.slice(0, observations.length), observations },
    ...{ newestMs, mayHaveHappened: false, sentAtMs: undefined, isLeft: false },
  };
}

/** Earliest time to send the first waiting observation, in Unix milliseconds. */
export function sendableAtMs(first: Item, floorMs: number | undefined): number {
  return (placedAt(first, floorMs).ms ?? 0) - AHEAD_MS_MAX;
}

/**
 * Returns the timestamp to send for an observation. An invalid timestamp stays unchanged, so that
 * the service reports it.
 */
export function placedAt(
  { observation, addedAtMs, timestampFrom, isFixed }: Item,
  floorMs = Number.NEGATIVE_INFINITY,
): { readonly ms: number | undefined; readonly timestamp: string } {
  const { timestamp } = observation;
  const wantedMs = timestamp === undefined ? addedAtMs : timeOf(timestamp);
  if (wantedMs === undefined) return { ms: undefined, timestamp: timestamp ?? '' };
  const isKept = timestampFrom === 'caller' || isFixed;
  const ms = isKept ? wantedMs : Math.max(wantedMs, floorMs);
  if (ms === wantedMs && timestamp !== undefined) return { ms, timestamp };
  return { ms, timestamp: new Date(ms).toISOString() };
}
