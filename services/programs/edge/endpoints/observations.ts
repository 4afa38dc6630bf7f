import { z } from 'zod';
import { endpoint, INSTANCE_ID } from '#edge/endpoints/endpoint';
import { HTTP_LIMITS } from '#edge/http';
import { dataOf, Processed, ProcessedBatch, Simulated } from '#edge/schemas/answers';
import { Unit } from '#edge/schemas/instance';
import {
  fingerprintOf,
  IDEMPOTENCY_KEY,
  isIdempotencyKey,
  KEY_LENGTH_MAX,
} from '#edge/serve/engine-calls';
import { ContextSource, ItemKeySource } from '#edge/serve/json';
import type { FaultReason } from '#errors/error-reasons';
import { invalid } from '#errors/fault';
import type { IdempotencyKey, ObservationInput } from '#grpc/engine-messages';
import { MODE_TARGETS, type ModeTarget } from '#identity/modes';
import { firstMisplaced } from '#identity/observation-order';

/**
 * Matches an RFC 3339 date-time from 1970 on. Every part is in its range, except days in short
 * months. The API document shows the pattern verbatim.
 */
const RFC_3339 =
  /^(?:19[7-9]\d|[2-9]\d{3})-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])[Tt](?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,9})?(?:[Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/;

/** Days in the shortest month. Days up to this number need no check. */
const MONTH_DAYS_MIN = 28;

const MINUTE_MS = 60_000;
const ZERO = '0'.charCodeAt(0);

/**
 * Converts an RFC 3339 date-time with an offset to Unix milliseconds. Truncates finer fractions.
 * Source: decision 8.
 *
 * Returns undefined for all other text, impossible dates and leap seconds. Reads parts by position,
 * because capture groups are slow.
 */
export function parseTimestamp(text: string): number | undefined {
  if (!RFC_3339.test(text)) return undefined;
  const year = 100 * twoDigits(text, 0) + twoDigits(text, 2);
  const month = twoDigits(text, 5);
  const day = twoDigits(text, 8);
  const [hour, minute, second] = [twoDigits(text, 11), twoDigits(text, 14), twoDigits(text, 17)];
  const localMs = Date.UTC(year, month - 1, day, hour, minute, second, fractionMs(text));
  const isRealDate = day <= MONTH_DAYS_MIN || new Date(localMs).getUTCDate() === day;
  return isRealDate ? localMs - offsetMs(text) : undefined;
}

/** Fraction of a second in milliseconds; 0 if no point follows the seconds. */
function fractionMs(text: string): number {
  return text.charAt(19) === '.' ? Math.round(1_000 * Number.parseFloat(text.slice(19, 23))) : 0;
}

/** UTC offset in milliseconds, from `Z` or a final `±hh:mm`. */
function offsetMs(text: string): number {
  const sign = text.charAt(text.length - 6);
  if (sign !== '+' && sign !== '-') return 0;
  const minutes = 60 * twoDigits(text, text.length - 5) + twoDigits(text, text.length - 2);
  return (sign === '+' ? minutes : -minutes) * MINUTE_MS;
}

function twoDigits(text: string, at: number): number {
  return 10 * (text.charCodeAt(at) - ZERO) + text.charCodeAt(at + 1) - ZERO;
}

/** Maximum serialized context, in bytes. */
const CONTEXT_BYTES_MAX = 8 * 1_024;

/** Maximum context depth, including the context itself. */
const CONTEXT_DEPTH_MAX = 16;

/**
 * Arbitrary metadata as JSON text: stored and returned, never interpreted. Source: interface 2.7.
 */
export const ContextJson = z
  .custom<ContextSource>((value) => value instanceof ContextSource, {
    message: 'must be an object',
  })
  .meta({
    type: 'object',
    propertyNames: { not: { const: '__proto__' } },
    additionalProperties: true,
    description:
      `Arbitrary metadata of at most ${CONTEXT_BYTES_MAX} bytes of JSON and ${CONTEXT_DEPTH_MAX} ` +
      'levels, including the object itself. The key `__proto__` is refused at every level, and ' +
      '`prototype` within `constructor`.',
  })
  .transform((context, check) => {
    const refuse = (reason: FaultReason, message: string) =>
      check.issues.push({ code: 'custom', input: context, params: { reason }, message });
    const { value, json } = context;
    const flaw = flawOf(value, CONTEXT_DEPTH_MAX);
    if (flaw === 'too_deep') refuse(flaw, `has more than ${CONTEXT_DEPTH_MAX} levels`);
    if (flaw === 'out_of_range') refuse(flaw, 'has a number that is not finite');
    const isTooLong =
      json.length > CONTEXT_BYTES_MAX || Buffer.byteLength(json) > CONTEXT_BYTES_MAX;
    if (isTooLong) refuse('too_long', `is longer than ${CONTEXT_BYTES_MAX} bytes of JSON`);
    return json;
  });

function flawOf(value: unknown, depthLeft: number): 'too_deep' | 'out_of_range' | undefined {
  if (typeof value === 'number' && !Number.isFinite(value)) return 'out_of_range';
  if (typeof value !== 'object' || value === null) return undefined;
  if (depthLeft === 0) return 'too_deep';
  const object = value as Readonly<Record<string, unknown>>;
  for (const key of Object.keys(object)) {
    const flaw = flawOf(object[key], depthLeft - 1);
    if (flaw !== undefined) return flaw;
  }
  return undefined;
}

/** Observation time. Parsed to Unix milliseconds. Source: decision 8. */
const TimestampMs = z
  .string()
  .meta({
    format: 'date-time',
    pattern: RFC_3339.source,
    maxLength: 35,
    examples: ['2026-01-15T12:00:00Z'],
  })
  .transform((text, check) => {
    const timeMs = parseTimestamp(text);
    const refuse = (reason: FaultReason, message: string) =>
      check.issues.push({ code: 'custom', input: text, params: { reason }, message });
    if (timeMs === undefined) refuse('invalid_timestamp', 'must be RFC 3339 with an offset');
    else if (timeMs < 0) refuse('invalid_timestamp', 'must not be before 1970');
    return timeMs ?? 0;
  });

/** Maximum observations per batch. */
const BATCH_OBSERVATIONS_MAX = 100;

/** Reasons to refuse a list of observations. */
const OBSERVATIONS_REFUSALS: readonly FaultReason[] = [
  'missing_field',
  'out_of_range',
  'unknown_value',
  'too_short',
  'too_long',
  'invalid_timestamp',
  'timestamp_in_future',
  'timestamp_order',
  'timestamps_mixed',
];

/** Suffix that distinguishes a batch path from a single call's path. */
const BATCH_PATH_END = /\/batch\??$/;

const MODE_INDEX = new Map<ModeTarget, number>(
  MODE_TARGETS.map((target, index) => [target, index]),
);

const EXAMPLE = { mode_target: 'ORDER', signal_strength: 0.7, confidence: 0.9 };

/** Body for `POST /instances/{id}/process`. Source: interface 2.7. */
export const Observation = z
  .strictObject({
    mode_target: z.enum(MODE_TARGETS),
    signal_strength: Unit.describe('Intensity.'),
    confidence: Unit.optional().meta({ default: 1, description: 'Certainty.' }),
    context: ContextJson.optional(),
    timestamp: TimestampMs.optional().describe(
      'Time of the observation (RFC 3339), at least 1.000 s after the previous. Default: now.',
    ),
  })
  .meta({ id: 'Observation', examples: [EXAMPLE] });

/** A batch item's idempotency key. Same rules as the header. Source: decision 280. */
const ItemKey = z
  .custom<ItemKeySource>((value) => value instanceof ItemKeySource, {
    message: 'must be a string',
  })
  .refine(({ key }) => key.length > 0, {
    params: { reason: 'too_short' },
    message: 'is empty',
    abort: true,
  })
  .refine(({ key }) => key.length <= KEY_LENGTH_MAX, {
    params: { reason: 'too_long' },
    message: `is longer than ${KEY_LENGTH_MAX} characters`,
    abort: true,
  })
  .refine(({ key }) => isIdempotencyKey(key), {
    params: { reason: 'invalid_text' },
    message: 'must be printable ASCII without spaces at the ends',
  })
  .meta({
    type: 'string',
    pattern: IDEMPOTENCY_KEY.source,
    minLength: 1,
    maxLength: KEY_LENGTH_MAX,
    description:
      'Like the header `Idempotency-Key` of a single call. An observation with a known key is ' +
      'reported as `replayed` and not applied again.',
  });

/** An observation in a batch. Source: interface 4.2. */
export const BatchObservation = Observation.extend({ idempotency_key: ItemKey.optional() }).meta({
  id: 'BatchObservation',
  examples: [EXAMPLE],
});

/** Body for `POST /instances/{id}/process/batch`. Source: interface 4.2. */
export const Batch = z
  .strictObject({
    observations: z.array(BatchObservation).min(1).max(BATCH_OBSERVATIONS_MAX),
    include_intermediate: z.boolean().optional().meta({ default: false }),
  })
  .meta({ id: 'Batch', examples: [{ observations: [EXAMPLE], include_intermediate: false }] });

/** Maximum observations per simulation. */
const SIMULATED_OBSERVATIONS_MAX = 20;

/** Body for `POST /instances/{id}/simulate`. */
const Simulation = z
  .strictObject({
    observations: z.array(Observation).min(1).max(SIMULATED_OBSERVATIONS_MAX),
  })
  .meta({ id: 'Simulation', examples: [{ observations: [EXAMPLE] }] });

/**
 * A batch's item keys, one entry per observation; undefined if no item has a key.
 *
 * `url` is the batch URL. Fingerprints use the single call's URL, without `/batch`.
 */
function itemKeysOf(
  observations: z.output<typeof Batch>['observations'],
  url: string,
): readonly (IdempotencyKey | undefined)[] | undefined {
  if (observations.every(({ idempotency_key }) => idempotency_key === undefined)) return undefined;
  const singleUrl = url.replace(BATCH_PATH_END, '');
  return observations.map(({ idempotency_key: source }) => {
    if (source === undefined) return undefined;
    const { key, observationText } = source;
    return { key, fingerprint: fingerprintOf('POST', singleUrl, observationText) };
  });
}

/** The validated observation as engine input, with defaults filled in. */
export function observationInput(body: z.output<typeof Observation>): ObservationInput {
  return {
    mode: MODE_INDEX.get(body.mode_target) ?? 0,
    signal: body.signal_strength,
    confidence: body.confidence ?? 1,
    contextJson: body.context ?? '{}',
    timestampMs: body.timestamp,
  };
}

/** Endpoint `POST /instances/{id}/process`. Source: interface 4.2. */
export const processObservation = endpoint({
  name: 'processObservation',
  method: 'POST',
  path: '/instances/:id/process',
  pathId: INSTANCE_ID,
  tag: 'Engine',
  summary: 'Process one observation: one cycle',
  description:
    'Advances the instance by one cycle and bills it. An observation less than 1.000 s after the ' +
    'previous one changes nothing and costs nothing: the answer is 200 with the previous state, ' +
    '`X-Throttled: true` and `Retry-After`, or 429 with `Prefer: handling=strict`. With ' +
    '`timestamp`, your own clock measures this interval. A `timestamp` may be in the past, even ' +
    'before the creation of the instance, and at most 300 s in the future.',
  scope: 'full',
  cycles: () => 1,
  body: Observation,
  response: dataOf(Processed),
  refusals: [
    'missing_field',
    'out_of_range',
    'unknown_value',
    'too_long',
    'invalid_timestamp',
    'timestamp_in_future',
  ],
  isKeyed: true,
  isTagged: true,
  handler: {
    kind: 'engine',
    command: ({ body, nowMs }) => {
      assertNotFuture(body.timestamp, nowMs, 'timestamp');
      const observations = [observationInput(body)];
      return { kind: 'process', observations, isBatch: false, isEveryStateWanted: false };
    },
  },
});

/** Endpoint `POST /instances/{id}/process/batch`. Source: interface 4.2. */
export const processBatch = endpoint({
  name: 'processBatch',
  method: 'POST',
  path: '/instances/:id/process/batch',
  pathId: INSTANCE_ID,
  tag: 'Engine',
  summary: 'Process up to 100 observations in order, as one unit',
  description:
    '1 to 100 observations, at most 256 KiB, checked and applied as one unit: all or nothing. ' +
    'Costs one request, and one cycle for each observation. Either all observations have a ' +
    '`timestamp`, ascending and at least 1.000 s apart, or none has. Without timestamps, the ' +
    'observations are 1.000 s apart and end now, or later if the newest observation of the ' +
    'instance is too recent. If the first observation is too early, the whole batch is ' +
    'throttled: 200 with `processed_count: 0`, or 429 with `Prefer: handling=strict`. With ' +
    '`include_intermediate`, `states` has the state after each observation.\n\n' +
    'An observation may have an `idempotency_key`. If the key was used before on the instance, ' +
    'in a batch or as the `Idempotency-Key` of a single call, the observation is not applied ' +
    'again and costs no cycle. `results` then has the outcome of each item: `applied`, ' +
    '`replayed` or `throttled`. If all items were replayed, the answer has `Idempotent-Replayed: ' +
    'true` and the current state.',
  scope: 'full',
  cycles: ({ body }) => body.observations.length,
  bodyBytesMax: HTTP_LIMITS.bodyLimit,
  body: Batch,
  response: dataOf(ProcessedBatch),
  refusals: OBSERVATIONS_REFUSALS,
  isKeyed: true,
  isTagged: true,
  handler: {
    kind: 'engine',
    command: ({ body, url, nowMs }) => {
      const observations = body.observations.map(observationInput);
      const itemKeys = itemKeysOf(body.observations, url);
      assertNoneFuture(observations, nowMs);
      // If items have keys, the engine checks the order, because replayed items are exempt.
      if (itemKeys === undefined) assertAscending(observations);
      const isEveryStateWanted = body.include_intermediate ?? false;
      return { kind: 'process', observations, isBatch: true, isEveryStateWanted, itemKeys };
    },
  },
});

/** Endpoint `POST /instances/{id}/simulate`. */
export const simulateObservations = endpoint({
  name: 'simulateObservations',
  method: 'POST',
  path: '/instances/:id/simulate',
  pathId: INSTANCE_ID,
  tag: 'Engine',
  summary: 'Preview up to 20 observations on a copy',
  description:
    'Applies 1 to 20 observations in order to a copy of the instance, and discards the copy. The ' +
    'instance does not change, and no cycle is charged. `states` has the state after each ' +
    'observation; `ETag` is the version of the instance that was copied. Either all observations ' +
    'have a `timestamp`, under the rules of a batch, or none has. Without timestamps, the ' +
    'observations are 1.000 s apart. They start now, or 1.000 s after the newest observation of ' +
    'the instance if that is later. A first `timestamp` less than 1.000 s after this newest ' +
    'observation is refused. Costs one request.',
  scope: 'read',
  bodyBytesMax: HTTP_LIMITS.bodyLimit,
  body: Simulation,
  response: dataOf(Simulated),
  refusals: OBSERVATIONS_REFUSALS,
  isTagged: true,
  handler: {
    kind: 'engine',
    command: ({ body, nowMs }) => {
      const observations = body.observations.map(observationInput);
      assertNoneFuture(observations, nowMs);
      assertAscending(observations);
      return { kind: 'simulate', observations };
    },
  },
});

/** How far a caller's clock may be ahead, in milliseconds. Source: decision 8. */
const FUTURE_MS_MAX = 300_000;

/**
 * Throws `timestamp_in_future` if a timestamp is more than `FUTURE_MS_MAX` ahead. Source: decision
 * 8.
 */
export function assertNotFuture(
  timestampMs: number | undefined,
  nowMs: number,
  field: string,
): void {
  if (timestampMs === undefined || timestampMs <= nowMs + FUTURE_MS_MAX) return;
  throw invalid('timestamp_in_future', field, `${field}: more than 300 s in the future`);
}

/** Applies `assertNotFuture` to each observation. */
function assertNoneFuture(observations: readonly ObservationInput[], nowMs: number): void {
  for (const [index, { timestampMs }] of observations.entries()) {
    assertNotFuture(timestampMs, nowMs, `observations[${index}].timestamp`);
  }
}

/**
 * Throws `invalid_request` unless all or no observations have a timestamp. Timestamps must ascend
 * by at least 1.000 s. Source: decision 8.
 */
function assertAscending(observations: readonly ObservationInput[]): void {
  const misplaced = firstMisplaced(observations.map(({ timestampMs }) => timestampMs));
  if (misplaced === undefined) return;
  const { index, reason } = misplaced;
  const field = `observations[${index}].timestamp`;
  const text =
    reason === 'timestamp_order'
      ? 'less than 1.000 s after the previous observation'
      : 'either all observations have a timestamp, or none';
  throw invalid(reason, field, `${field}: ${text}`);
}
