import { TOKEN_LENGTH_MAX } from '#wire/bounds';
import type { EngineCommand, IdempotencyKey, ObservationInput } from '#wire/engine-messages';
import type {
  EngineRequest,
  ProcessKeyedItems,
  ItemKey as WireItemKey,
  Observation as WireObservation,
  ProcessObservations as WireProcess,
} from '#wire/gen/identity_engine/v1/engine';
import { brokenMessage, trustInteger, trustText, trustUnit } from '#wire/tls';

/* Observations on the wire: single calls, and batches with and without keys of their items. */

type ProcessCommand = Extract<EngineCommand, { kind: 'process' }>;
type WireCommand = NonNullable<EngineRequest['command']>;

/** Modes of the model. Source: interface 2.2. */
export const MODE_COUNT = 7;
/** 8 KiB serialized; a UTF-16 unit is at least one byte. */
const CONTEXT_LENGTH_MAX = 8_192;
/** Observations of one call. */
export const OBSERVATIONS_MAX = 100;
/** The last millisecond that a date can name (ECMA-262). */
export const TIME_MS_MAX = 8.64e15;

/** How the wire has an item without a key. */
const NO_KEY: IdempotencyKey = { key: '', fingerprint: '' };

/**
 * Observations as `proto/` writes them. With keys it is a command of its own: an engine of release 1.0
 * would pass over the keys, and apply an item a second time.
 */
export function processToWire(command: ProcessCommand): WireCommand {
  const { isBatch, isEveryStateWanted, itemKeys } = command;
  // An observation has the same fields on both sides; the generated type only lacks readonly.
  const observations = command.observations as WireObservation[];
  const batch = { observations, batch: isBatch, everyStateWanted: isEveryStateWanted };
  if (itemKeys === undefined) return { $case: 'process', value: batch };
  const keys = itemKeys.map(({ key, fingerprint } = NO_KEY) => ({ key, fingerprint }));
  return { $case: 'processKeyedItems', value: { batch, keys } };
}

/** The command that observations of the wire are. Throws `internal` when they break a bound. */
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

/** The same of a batch with keys of its items. */
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

/** An observation of the domain. Throws `internal` when it breaks a bound. */
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
