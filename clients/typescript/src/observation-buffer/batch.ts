import { IdentityEngineError } from '../errors.ts';
import { fromJson, toJson } from '../json.ts';
import type { BatchObservation } from '../models.ts';
import { uuid7 } from '../uuid7.ts';
import type { Moment } from './buffer-clock.ts';
import { AHEAD_MS_MAX, INTERVAL_MS, timeOf } from './spacing.ts';

/** One observation that the buffer has taken in. */
export type Item = {
  /** Ordinal in the buffer, from 1. */
  readonly ordinal: number;
  /** A copy of what was added, with its key; its timestamp may be missing where the buffer gives it. */
  readonly observation: KeyedObservation;
  /** Who gives the timestamp. The caller's is never changed. */
  readonly timestampFrom: TimestampFrom;
  /** Whether it may have been sent with its present timestamp, which is kept as long as the outcome is open. */
  readonly isFixed: boolean;
  /** When it was added, in Unix milliseconds. */
  readonly addedAtMs: number;
  /** The same by the steady clock. */
  readonly addedAtSteadyMs: number;
  /** Upper bound of its size in a body, in bytes. */
  readonly bytes: number;
};

/** Observations of one instance that go as one call, under one key for as long as its outcome is open. */
export type Batch = {
  readonly idempotencyKey: string;
  readonly items: readonly Item[];
  /** Those of the items, with the timestamps that are sent. */
  readonly observations: readonly KeyedObservation[];
  /** The newest of these timestamps in Unix milliseconds; undefined where none is valid. */
  readonly newestMs: number | undefined;
  /** Whether an attempt of it may have been carried out. */
  mayHaveHappened: boolean;
  /** When it was first sent, in Unix milliseconds. */
  sentAtMs: number | undefined;
  /** Whether sending it again cannot say what became of it: it waits to be handed back. */
  isLeft: boolean;
};

/** Observations of a batch at most. Source: interface 8.4. */
export const BATCH_ITEMS_MAX = 100;

/** Body of a batch at most, in bytes. Source: interface 8.4. */
const BODY_BYTES_MAX = 262_144;

/** What the frame of a body has, and what a timestamp and a comma add to an observation, in bytes. */
const FRAME_BYTES = 64;

/** An observation with its key. */
type KeyedObservation = BatchObservation & { readonly idempotency_key: string };

/** Who gives a timestamp. */
export type TimestampFrom = 'caller' | 'buffer';

/**
 * Copies an observation at once, so that what its owner does to it later changes nothing, and answers what makes
 * an item of it. Throws an `IdentityEngineError` for one that is no object or that JSON cannot say.
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

/** What a key is made of (interface 7.2). */
const KEY = /^[!-~](?:[ -~]{0,253}[!-~])?$/;

/** The caller's own key, or a new one. */
function keyOf({ idempotency_key: key = uuid7() }: BatchObservation): string {
  if (typeof key === 'string' && KEY.test(key)) return key;
  throw new IdentityEngineError(
    'observation.idempotency_key must have 1 to 255 printable ASCII characters',
  );
}

/** What is cut to, and from when on. */
export type Cut = {
  readonly itemsMax: number;
  /** The earliest timestamp that the instance takes, in Unix milliseconds; undefined where it is not known. */
  readonly floorMs: number | undefined;
  /** The latest one, in Unix milliseconds. */
  readonly ceilingMs: number;
};

/**
 * The next batch of what waits, in order. Each observation without a timestamp gets that of its adding, moved to
 * 1.000 s after the one before it where it would be nearer. One with a timestamp of the caller keeps it: nearer
 * than that, it begins the next batch. None where even the first is beyond the ceiling.
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

/** When the first of what waits may be sent, in Unix milliseconds. */
export function sendableAtMs(first: Item, floorMs: number | undefined): number {
  return (placedAt(first, floorMs).ms ?? 0) - AHEAD_MS_MAX;
}

/** The timestamp of an observation. One that is not valid stays as it is: the service says what is wrong. */
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
