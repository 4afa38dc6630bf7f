import { z } from 'zod';
import {
  fingerprintOf,
  IDEMPOTENCY_KEY,
  isIdempotencyKey,
  KEY_LENGTH_MAX,
} from '#edge/call-identity';
import { ItemKeySource } from '#edge/item-key-source';
import { ContextJson, TimestampMs, Unit } from '#edge/schemas/json-values';
import type { FaultReason } from '#fault/error-reasons';
import { MODE_TARGETS, type ModeTarget } from '#identity/modes';
import type { IdempotencyKey, ObservationInput } from '#wire/engine-messages';

/** Observations in one batch. */
const BATCH_OBSERVATIONS_MAX = 100;

/** How a list of observations may be wrong, beside what its size says. */
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

/** What the path of a batch has behind that of a single call. */
const BATCH_PATH_END = /\/batch\??$/;

const MODE_INDEX = new Map<ModeTarget, number>(
  MODE_TARGETS.map((target, index) => [target, index]),
);

const EXAMPLE = { mode_target: 'ORDER', signal_strength: 0.7, confidence: 0.9 };

/** The body of process. Source: interface 2.7. */
export const Observation = z
  .strictObject({
    mode_target: z.enum(MODE_TARGETS),
    signal_strength: Unit.describe('Intensity.'),
    confidence: Unit.optional().meta({ default: 1, description: 'Certainty.' }),
    context: ContextJson.optional(),
    timestamp: TimestampMs.optional().describe(
      'When it was observed, RFC 3339; at least 1.000 s after the previous one. Now if left out.',
    ),
  })
  .meta({ id: 'Observation', examples: [EXAMPLE] });

/** Key of a batch's item, by the rules of the header. Source: decision 280. */
const ItemKey = z
  .custom<ItemKeySource>((value) => value instanceof ItemKeySource, {
    message: 'must be a string',
  })
  .refine(({ key }) => key.length > 0, {
    params: { reason: 'too_short' },
    message: 'at least 1 character',
    abort: true,
  })
  .refine(({ key }) => key.length <= KEY_LENGTH_MAX, {
    params: { reason: 'too_long' },
    message: `at most ${KEY_LENGTH_MAX} characters`,
    abort: true,
  })
  .refine(({ key }) => isIdempotencyKey(key), {
    params: { reason: 'invalid_text' },
    message: 'printable ASCII characters only, no space at the ends',
  })
  .meta({
    type: 'string',
    pattern: IDEMPOTENCY_KEY.source,
    minLength: 1,
    maxLength: KEY_LENGTH_MAX,
    description:
      'As the header `Idempotency-Key` of a single call: an observation whose key is known is reported ' +
      'as replayed and not applied again.',
  });

/** An observation of a batch. Source: interface 4.2. */
const BatchObservation = Observation.extend({ idempotency_key: ItemKey.optional() }).meta({
  id: 'BatchObservation',
  examples: [EXAMPLE],
});

/** The body of process/batch. Source: interface 4.2. */
export const Batch = z
  .strictObject({
    observations: z.array(BatchObservation).min(1).max(BATCH_OBSERVATIONS_MAX),
    include_intermediate: z.boolean().optional().meta({ default: false }),
  })
  .meta({ id: 'Batch', examples: [{ observations: [EXAMPLE], include_intermediate: false }] });

/** Observations of one simulation. */
const SIMULATED_OBSERVATIONS_MAX = 20;

/** The body of simulate. */
export const Simulation = z
  .strictObject({
    observations: z.array(Observation).min(1).max(SIMULATED_OBSERVATIONS_MAX),
  })
  .meta({ id: 'Simulation', examples: [{ observations: [EXAMPLE] }] });

/**
 * The keys of a batch's items, as many as observations; undefined if no item has one. `url`: that of the
 * batch, without `/batch` that of a single call.
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

/** A validated observation as the engine takes it, with its defaults filled in. */
export function observationInput(body: z.output<typeof Observation>): ObservationInput {
  return {
    mode: MODE_INDEX.get(body.mode_target) ?? 0,
    signal: body.signal_strength,
    confidence: body.confidence ?? 1,
    contextJson: body.context ?? '{}',
    timestampMs: body.timestamp,
  };
}
