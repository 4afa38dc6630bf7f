import { z } from 'zod';
import {
  fingerprintOf,
  IDEMPOTENCY_KEY,
  isIdempotencyKey,
  KEY_LENGTH_MAX,
} from '#edge/serve/engine-calls';
import { ContextSource, ItemKeySource } from '#edge/serve/json';
import type { FaultReason } from '#errors/error-reasons';
import type { IdempotencyKey, ObservationInput } from '#grpc/engine-messages';
import { MODE_TARGETS, type ModeTarget } from '#identity/modes';

/**
 * Pattern of an RFC 3339 date-time from 1970 on. Every part is in its range, except the days of
 * short months. The API document shows the pattern verbatim.
 */
const RFC_3339 =
  /^(?:19[7-9]\d|[2-9]\d{3})-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])[Tt](?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,9})?(?:[Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/;

/** Minimum number of days of any month. Days up to this number need no check. */
const MONTH_DAYS_MIN = 28;

const MINUTE_MS = 60_000;
const ZERO = '0'.charCodeAt(0);

/**
 * Unix milliseconds of an RFC 3339 date-time with an offset. Truncates fractions of a millisecond.
 * Source: decision 8.
 *
 * Returns undefined for all other text, impossible dates and leap seconds. Parts are read by
 * position, because capture groups would cost more than all the rest.
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

/** Milliseconds of the fraction. The point follows the seconds, if present. */
function fractionMs(text: string): number {
  return text.charAt(19) === '.' ? Math.round(1_000 * Number.parseFloat(text.slice(19, 23))) : 0;
}

/** Offset of local time from UTC in milliseconds, from `Z` or a final `±hh:mm`. */
function offsetMs(text: string): number {
  const sign = text.charAt(text.length - 6);
  if (sign !== '+' && sign !== '-') return 0;
  const minutes = 60 * twoDigits(text, text.length - 5) + twoDigits(text, text.length - 2);
  return (sign === '+' ? minutes : -minutes) * MINUTE_MS;
}

function twoDigits(text: string, at: number): number {
  return 10 * (text.charCodeAt(at) - ZERO) + text.charCodeAt(at + 1) - ZERO;
}

/** Maximum size of a serialized context, in bytes. */
const CONTEXT_BYTES_MAX = 8 * 1_024;

/** Maximum nesting depth of a context, including the context itself. */
const CONTEXT_DEPTH_MAX = 16;

/** A number in [0, 1]: signal, confidence, energy, mode strengths. Source: interface 8.4. */
export const Unit = z.number().min(0).max(1);

/** Text of `min` UTF-16 units to `max` code points, without lone surrogates. */
export const textOf = (min: number, max: number) =>
  z
    .string()
    .check((check) => {
      const refuse = (reason: FaultReason, message: string) =>
        check.issues.push({ code: 'custom', input: check.value, params: { reason }, message });
      if (!check.value.isWellFormed()) refuse('invalid_text', 'has a lone surrogate');
      else if (check.value.length < min) refuse('too_short', `is shorter than ${min} characters`);
      else if (isLonger(check.value, max)) refuse('too_long', `is longer than ${max} characters`);
    })
    .meta({ minLength: min, maxLength: max });

/** Whether a text has more than `max` code points. Counts them only if its length is ambiguous. */
function isLonger(text: string, max: number): boolean {
  return text.length > max && (text.length > 2 * max || [...text].length > max);
}

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
  for (const item of Object.values(value)) {
    const flaw = flawOf(item, depthLeft - 1);
    if (flaw !== undefined) return flaw;
  }
  return undefined;
}

/** Time of an observation. Parsed to Unix milliseconds. Source: decision 8. */
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

/** Maximum number of observations in one batch. */
const BATCH_OBSERVATIONS_MAX = 100;

/** Reasons for which a list of observations can be refused. */
export const OBSERVATIONS_REFUSALS: readonly FaultReason[] = [
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

/** Suffix by which the path of a batch differs from the path of a single call. */
const BATCH_PATH_END = /\/batch\??$/;

const MODE_INDEX = new Map<ModeTarget, number>(
  MODE_TARGETS.map((target, index) => [target, index]),
);

const EXAMPLE = { mode_target: 'ORDER', signal_strength: 0.7, confidence: 0.9 };

/** Body of `POST /instances/{id}/process`. Source: interface 2.7. */
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

/** Idempotency key of a batch item. Same rules as the header. Source: decision 280. */
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

/** An observation of a batch. Source: interface 4.2. */
const BatchObservation = Observation.extend({ idempotency_key: ItemKey.optional() }).meta({
  id: 'BatchObservation',
  examples: [EXAMPLE],
});

/** Body of `POST /instances/{id}/process/batch`. Source: interface 4.2. */
export const Batch = z
  .strictObject({
    observations: z.array(BatchObservation).min(1).max(BATCH_OBSERVATIONS_MAX),
    include_intermediate: z.boolean().optional().meta({ default: false }),
  })
  .meta({ id: 'Batch', examples: [{ observations: [EXAMPLE], include_intermediate: false }] });

/** Maximum number of observations in one simulation. */
const SIMULATED_OBSERVATIONS_MAX = 20;

/** Body of `POST /instances/{id}/simulate`. */
export const Simulation = z
  .strictObject({
    observations: z.array(Observation).min(1).max(SIMULATED_OBSERVATIONS_MAX),
  })
  .meta({ id: 'Simulation', examples: [{ observations: [EXAMPLE] }] });

/**
 * Idempotency keys of a batch, one entry per observation; undefined if no item has a key.
 *
 * `url` is the URL of the batch. Fingerprints use the URL of a single call, without `/batch`.
 */
export function itemKeysOf(
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

/** The validated observation as input of the engine, with defaults filled in. */
export function observationInput(body: z.output<typeof Observation>): ObservationInput {
  return {
    mode: MODE_INDEX.get(body.mode_target) ?? 0,
    signal: body.signal_strength,
    confidence: body.confidence ?? 1,
    contextJson: body.context ?? '{}',
    timestampMs: body.timestamp,
  };
}
