import { TOKEN_LENGTH_MAX } from '#grpc/bounds';
import type { EngineCommand, IdempotencyKey, ObservationInput } from '#grpc/engine-messages';
import type {
  EngineRequest,
  ProcessKeyedItems,
  ItemKey as WireItemKey,
  Observation as WireObservation,
  ProcessObservations as WireProcess,
} from '#grpc/gen/identity_engine/v1/engine';
import { brokenMessage, trustInteger, trustText, trustUnit } from '#grpc/tls';

/* Observations on the wire: single calls, and batches with and without item keys. */

type ProcessCommand = Extract<EngineCommand, { kind: 'process' }>;
type WireCommand = NonNullable<EngineRequest['command']>;

/** Number of modes in the model. Source: interface 2.2. */
export const MODE_COUNT = 7;
/** Maximum length of a context: 8 KiB serialized. A UTF-16 unit has at least one byte. */
const CONTEXT_LENGTH_MAX = 8_192;
/** Maximum number of observations in one call. */
export const OBSERVATIONS_MAX = 100;
/** Maximum time of an ECMAScript date, in Unix milliseconds (ECMA-262). */
export const TIME_MS_MAX = 8.64e15;

/** Wire form of an item without a key. */
const NO_KEY: IdempotencyKey = { key: '', fingerprint: '' };

/**
 * Encodes observations for `proto/`. A batch with item keys is a separate command: an engine of
 * release 1.0 would ignore the keys and apply an item a second time.
 */
export function processToWire(command: ProcessCommand): WireCommand {
  const { isBatch, isEveryStateWanted, itemKeys } = command;
  // An observation has equal fields on both sides; the generated type only lacks `readonly`.
  const observations = command.observations as WireObservation[];
  const batch = { observations, batch: isBatch, everyStateWanted: isEveryStateWanted };
  if (itemKeys === undefined) return { $case: 'process', value: batch };
  const keys = itemKeys.map(({ key, fingerprint } = NO_KEY) => ({ key, fingerprint }));
  return { $case: 'processKeyedItems', value: { batch, keys } };
}

/** Decodes a command with observations. Throws `internal` for a value out of bounds. */
export function processFromWire({
  observations,
  batch: isBatch,
  everyStateWanted,
}: WireProcess): ProcessCommand {
  trustInteger(observations.length, 1, isBatch ? OBSERVATIONS_MAX : 1, 'number of observations');
  return {
    kind: 'process',
    observations: observations.map(observationFromWire),
    isBatch,
    isEveryStateWanted: everyStateWanted,
  };
}

/** Decodes a batch with item keys. Throws `internal` for a value out of bounds. */
export function keyedItemsFromWire({ batch, keys }: ProcessKeyedItems): ProcessCommand {
  if (batch === undefined) throw brokenMessage('batch');
  const count = batch.observations.length;
  trustInteger(keys.length, count, count, 'number of item keys');
  return { ...processFromWire(batch), itemKeys: keys.map(itemKeyFromWire) };
}

function itemKeyFromWire({ key, fingerprint }: WireItemKey): IdempotencyKey | undefined {
  if (key === '') return undefined;
  trustText(key, 1, TOKEN_LENGTH_MAX, 'idempotency key of an item');
  return { key, fingerprint: trustText(fingerprint, 1, TOKEN_LENGTH_MAX, 'fingerprint') };
}

/** Decodes an observation. Throws `internal` for a value out of bounds. */
export function observationFromWire(wire: WireObservation): ObservationInput {
  const { timestampMs } = wire;
  if (timestampMs !== undefined) trustInteger(timestampMs, 0, TIME_MS_MAX, 'timestamp');
  return {
    mode: trustInteger(wire.mode, 0, MODE_COUNT - 1, 'mode'),
    signal: trustUnit(wire.signal, 'signal'),
    confidence: trustUnit(wire.confidence, 'confidence'),
    contextJson: trustText(wire.contextJson, '{}'.length, CONTEXT_LENGTH_MAX, 'context'),
    timestampMs,
  };
}
