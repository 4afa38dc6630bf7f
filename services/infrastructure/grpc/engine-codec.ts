import {
  CALL_ID_MAX,
  CALL_TIMEOUT_MS_MAX,
  CYCLES_MAX,
  DESCRIPTION_LENGTH_MAX,
  ID_LENGTH_MAX,
  MESSAGE_BYTES,
  MODE_COUNT,
  NAME_LENGTH_MAX,
  STATE_BYTES_MAX,
  TIME_MS_MAX,
  TOKEN_LENGTH_MAX,
} from '#grpc/call-bounds';
import {
  type NamingCommand,
  namingToWire,
  taggedFromWire,
  tagsFromWire,
  untaggedFromWire,
} from '#grpc/create-codec';
import {
  type EngineAnswer,
  type EngineCall,
  type EngineCommand,
  type EventCursor,
  type IdempotencyKey,
  type ObservationInput,
  type PeerCommand,
  type RecordPage,
  SUMMARIES_MAX,
  type TrimCommand,
} from '#grpc/engine-messages';
import {
  CURSOR_LENGTH_MAX,
  feedFromWire,
  feedToWire,
  rowsFromWire,
  rowsLength,
  rowsToWire,
} from '#grpc/feed-codec';
import { brokenMessage, trustInteger, trustText, trustUnit, unknownCall } from '#grpc/frame';
import type { FrameProtocol } from '#grpc/frame-protocol';
import {
  EngineReply,
  EngineRequest,
  EngineService,
  type ProcessKeyedItems,
  type EngineAnswer as WireAnswer,
  type ItemKey as WireItemKey,
  type Observation as WireObservation,
  type ProcessObservations as WireProcess,
  type PutListingRow as WirePutRow,
  type ReadRecords as WireRecords,
  type ReadRecordsAfter as WireRecordsAfter,
  type TrimRows as WireTrim,
} from '#grpc/gen/identity_engine/v1/engine';
import { listedFromWire, listLength, listToWire } from '#grpc/list-codec';
import {
  pageOfRecords,
  type RecordsCursor,
  recordsCursorFrom,
  recordsCursorText,
} from '#grpc/list-cursor';
import { forkStartFromWire, pastToWire, statesFromWire } from '#grpc/past-codec';
import { webhookFromWire, webhookLength, webhookToWire } from '#grpc/webhook-codec';
import { traced, traceparentIn } from '#telemetry/tracer';

/* Observations on the wire: single calls, and batches with and without item keys. */

type ProcessCommand = Extract<EngineCommand, { kind: 'process' }>;
type WireCommand = NonNullable<EngineRequest['command']>;

/**
 * Maximum length of a context in UTF-16 units. A context has at most 8 KiB, and a unit has at least
 * one byte.
 */
const CONTEXT_LENGTH_MAX = 8_192;
/** Maximum number of observations in one call. */
const OBSERVATIONS_MAX = 100;

/** Wire form of an item without a key. */
const NO_KEY: IdempotencyKey = { key: '', fingerprint: '' };

/**
 * Encodes observations for `proto/`. A batch with item keys is a separate command. An engine of
 * release 1.0 would ignore added keys and apply an item a second time.
 */
function processToWire(command: ProcessCommand): WireCommand {
  const { isBatch, isEveryStateWanted, isBrief: brief = false, itemKeys } = command;
  // An observation has the same fields on both sides; the generated type only lacks `readonly`.
  const observations = command.observations as WireObservation[];
  const batch = { observations, batch: isBatch, everyStateWanted: isEveryStateWanted, brief };
  if (itemKeys === undefined) return { $case: 'process', value: batch };
  const keys = itemKeys.map(({ key, fingerprint } = NO_KEY) => ({ key, fingerprint }));
  return { $case: 'processKeyedItems', value: { batch, keys } };
}

/** Decodes a command with observations. Throws `internal` for a value out of bounds. */
function processFromWire({
  observations,
  batch: isBatch,
  everyStateWanted,
  brief,
}: WireProcess): ProcessCommand {
  trustInteger(observations.length, 1, isBatch ? OBSERVATIONS_MAX : 1, 'number of observations');
  return {
    kind: 'process',
    observations: observations.map(observationFromWire),
    isBatch,
    isEveryStateWanted: everyStateWanted,
    ...(brief && { isBrief: true }),
  };
}

/** Decodes a batch with item keys. Throws `internal` for a value out of bounds. */
function keyedItemsFromWire({ batch, keys }: ProcessKeyedItems): ProcessCommand {
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

function simulateFromWire(observations: readonly WireObservation[]): EngineCommand {
  trustInteger(observations.length, 1, OBSERVATIONS_MAX, 'number of observations');
  return { kind: 'simulate', observations: observations.map(observationFromWire) };
}

/** Decodes an observation. Throws `internal` for a value out of bounds. */
function observationFromWire(wire: WireObservation): ObservationInput {
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

/**
 * Maximum number of records on one page. Source: interface 8.4, decisions 2 and 162.
 */
const RECORDS_MAX = 1_000;

/** Encodes a command for `proto/`. */
function commandToWire(command: EngineCommand): WireCommand {
  switch (command.kind) {
    case 'create':
    case 'rename':
      return namingToWire(command);
    case 'process':
      return processToWire(command);
    case 'simulate': {
      const observations = command.observations as WireObservation[];
      return { $case: 'simulate', value: { observations } };
    }
    case 'readInstance':
    case 'remove':
    case 'readSnapshot':
    case 'readContract':
      return { $case: command.kind, value: {} };
    case 'reset':
      return { $case: 'reset', value: { toCheckpoint: command.mode === 'default' } };
    case 'readHistory':
      if (command.cursor !== undefined) {
        return { $case: 'readHistoryAfter', value: recordsAfterToWire(command, command.cursor) };
      }
      return { $case: 'readHistory', value: recordsToWire(command, false) };
    case 'readDrift':
      if (command.cursor !== undefined) {
        return { $case: 'readDriftAfter', value: recordsAfterToWire(command, command.cursor) };
      }
      return { $case: 'readDrift', value: recordsToWire(command, command.isPaged) };
    case 'readEvents':
      return { $case: 'readEvents', value: { after: command.after, waitMs: command.waitMs } };
    case 'readStates':
    case 'readForkStart':
      return pastToWire(command);
    case 'list':
    case 'readFleet':
      return listToWire(command);
    case 'putListingRow':
    case 'removeListingRow':
    case 'reservePlace':
    case 'readSummaries':
    case 'readIndexed':
    case 'recordTransitions':
      return peerToWire(command);
    case 'readFeed':
      return { $case: 'readFeed', value: feedToWire(command) };
    case 'webhook':
      return { $case: 'webhook', value: webhookToWire(command) };
    case 'trim': {
      const { kind: _, state = '', ...floor } = command;
      return { $case: 'trim', value: { ...floor, state: Buffer.from(state, 'latin1') } };
    }
  }
}

function peerToWire(command: PeerCommand): WireCommand {
  switch (command.kind) {
    case 'putListingRow': {
      const { kind: _, ...row } = command;
      return { $case: 'putListingRow', value: row };
    }
    case 'removeListingRow':
      return { $case: 'removeListingRow', value: { version: command.version } };
    case 'reservePlace':
      return { $case: 'reservePlace', value: { instancesMax: command.instancesMax } };
    case 'readSummaries':
    case 'readIndexed':
      return { $case: command.kind, value: { instanceIds: [...command.instanceIds] } };
    case 'recordTransitions':
      return { $case: 'recordTransitions', value: rowsToWire(command.rows) };
  }
}

/**
 * Decodes a command. Throws `upgrade_in_progress` for a command of a later release, and `internal`
 * for a value out of bounds.
 */
function commandFromWire(wire: EngineRequest['command']): EngineCommand {
  if (wire === undefined) throw unknownCall();
  switch (wire.$case) {
    case 'create':
    case 'fork':
    case 'rename':
      return untaggedFromWire(wire);
    case 'tagged':
      return taggedFromWire(wire.value);
    case 'process':
      return processFromWire(wire.value);
    case 'processKeyedItems':
      return keyedItemsFromWire(wire.value);
    case 'simulate':
      return simulateFromWire(wire.value.observations);
    case 'readInstance':
    case 'remove':
    case 'readSnapshot':
    case 'readContract':
      return { kind: wire.$case };
    case 'reset':
      return { kind: 'reset', mode: wire.value.toCheckpoint ? 'default' : 'initial' };
    case 'readHistory':
      return { kind: 'readHistory', ...recordsFromWire(wire.value) };
    case 'readDrift':
      return { kind: 'readDrift', ...recordsFromWire(wire.value), isPaged: wire.value.paged };
    case 'readEvents': {
      const { after, waitMs } = wire.value;
      trustInteger(waitMs, 0, CALL_TIMEOUT_MS_MAX, 'wait');
      return { kind: 'readEvents', after: after && cursorFromWire(after), waitMs };
    }
    case 'readHistoryAfter':
      return { kind: 'readHistory', ...recordsAfterFromWire(wire.value, 'history') };
    case 'readDriftAfter': {
      return { kind: 'readDrift', ...recordsAfterFromWire(wire.value, 'drift'), isPaged: true };
    }
    case 'readStates':
      return statesFromWire(wire.value);
    case 'readForkStart':
      return forkStartFromWire(wire.value);
    case 'listAfter':
    case 'list':
    case 'search':
    case 'filter':
    case 'readFleet':
      return listedFromWire(wire);
    case 'putListingRow':
      return putRowFromWire(wire.value);
    case 'removeListingRow':
      return { kind: 'removeListingRow', version: versionOf(wire.value) };
    case 'reservePlace':
      return { kind: 'reservePlace', instancesMax: wire.value.instancesMax };
    case 'readSummaries':
    case 'readIndexed':
      return summariesFromWire(wire.$case, wire.value.instanceIds);
    case 'recordTransitions':
      return { kind: 'recordTransitions', rows: rowsFromWire(wire.value) };
    case 'readFeed':
      return { kind: 'readFeed', ...feedFromWire(wire.value) };
    case 'webhook':
      return webhookFromWire(wire.value);
    case 'trim':
      return trimFromWire(wire.value);
  }
}

/** Decodes an event cursor. Throws `internal` for a value out of bounds. */
function cursorFromWire(wire: EventCursor): EventCursor {
  const count = (value: number, what: string) =>
    trustInteger(value, 0, Number.MAX_SAFE_INTEGER, `${what} of a cursor`);
  return {
    ordinal: count(wire.ordinal, 'ordinal'),
    drift: count(wire.drift, 'drift'),
    generation: count(wire.generation, 'generation'),
    version: count(wire.version, 'version'),
  };
}

function summariesFromWire(
  kind: 'readSummaries' | 'readIndexed',
  instanceIds: readonly string[],
): EngineCommand {
  trustInteger(instanceIds.length, 1, SUMMARIES_MAX, 'number of instances');
  for (const id of instanceIds) trustText(id, 1, ID_LENGTH_MAX, 'instance id');
  return { kind, instanceIds };
}

function putRowFromWire(wire: WirePutRow): EngineCommand {
  const { tagsJson } = wire;
  return {
    kind: 'putListingRow',
    version: versionOf(wire),
    name: trustText(wire.name, 1, NAME_LENGTH_MAX, 'name'),
    description: trustText(wire.description, 0, DESCRIPTION_LENGTH_MAX, 'description'),
    createdAtMs: trustInteger(wire.createdAtMs, 0, TIME_MS_MAX, 'time of creation'),
    ...(tagsJson === undefined ? {} : { tagsJson: tagsFromWire(tagsJson) }),
  };
}

function trimFromWire(wire: WireTrim): TrimCommand {
  const ordinal = (value: number, least: number, what: string) =>
    trustInteger(value, least, Number.MAX_SAFE_INTEGER, what);
  const { state, timestampMs } = wire;
  trustInteger(state.length, 0, STATE_BYTES_MAX, 'length of a state');
  return {
    kind: 'trim',
    history: ordinal(wire.history, 1, 'observation'),
    drift: ordinal(wire.drift, 0, 'drift event'),
    generation: ordinal(wire.generation, 1, 'generation'),
    cycle: ordinal(wire.cycle, 1, 'cycle'),
    timestampMs: trustInteger(timestampMs, 0, TIME_MS_MAX, 'timestamp'),
    state: state.length === 0 ? undefined : Buffer.from(state).toString('latin1'),
  };
}

function versionOf({ version }: { readonly version: number }): number {
  return trustInteger(version, 1, Number.MAX_SAFE_INTEGER, 'version');
}

function recordsToWire(page: RecordPage, paged: boolean): WireRecords {
  const { limit, offset, isEveryGeneration } = page;
  return { limit, offset, everyGeneration: isEveryGeneration, paged };
}

function recordsAfterToWire({ limit }: RecordPage, cursor: RecordsCursor): WireRecordsAfter {
  return { cursor: recordsCursorText(cursor), limit };
}

function recordsAfterFromWire(wire: WireRecordsAfter, list: RecordsCursor['list']): RecordPage {
  const limit = trustInteger(wire.limit, 1, RECORDS_MAX, 'limit');
  return pageOfRecords(limit, recordsCursorFrom(wire.cursor, list));
}

function recordsFromWire(wire: WireRecords): RecordPage {
  return {
    limit: trustInteger(wire.limit, 1, RECORDS_MAX, 'limit'),
    offset: trustInteger(wire.offset, 0, Number.MAX_SAFE_INTEGER, 'offset'),
    isEveryGeneration: wire.everyGeneration,
  };
}

/** Maximum length of `If-Match`, in UTF-16 units: the longest allowed header. */
const IF_MATCH_LENGTH_MAX = 16_384;
/** Upper bound for the numbers and tags of one observation, in bytes, rounded up. */
const OBSERVATION_BYTES = 64;
/** Upper bound for the tag and length of one id in a list, in bytes, rounded up. */
const ID_BYTES = 4;
/** Maximum UTF-8 bytes per UTF-16 unit. */
const BYTES_PER_UNIT_MAX = 3;

/** Frame protocol of the engine, for edges and engines. */
export const engineProtocol: FrameProtocol<EngineCall, EngineAnswer, EngineRequest, WireAnswer> = {
  name: 'identity_engine.v1.Engine',
  role: 'engine',
  exchangePath: EngineService.exchange.path,
  nameOf: ({ command }) => command.kind,
  ask: EngineService.ask,
  unavailable: 'engine_unavailable',
  timedOut: 'deadline_exceeded',
  timeoutMs: CALL_TIMEOUT_MS_MAX,
  deadlineAtMsOf: ({ deadlineAtMs }) => deadlineAtMs,
  waits: ({ command }) => {
    if (command.kind === 'webhook') return command.action === 'test';
    const mayWait = command.kind === 'readEvents' || command.kind === 'readFeed';
    return mayWait && command.waitMs > 0;
  },
  request: EngineRequest,
  reply: EngineReply,
  sizeOfCall: (call) => MESSAGE_BYTES + BYTES_PER_UNIT_MAX * textLengthOf(call),
  requestOf,
  callOf,
  sizeOfAnswer({ body }) {
    return MESSAGE_BYTES + (typeof body === 'string' ? Buffer.byteLength(body) : body.length);
  },
  answerToWire,
  answerFromWire,
};

/** Encodes a call for `proto/`. `timeoutMs` is the time left until its deadline. */
function requestOf(id: number, timeoutMs: number, call: EngineCall): EngineRequest {
  return {
    id,
    timeoutMs,
    accountId: call.accountId,
    instanceId: call.instanceId,
    callId: call.callId,
    idempotencyKey: call.idempotency?.key ?? '',
    idempotencyFingerprint: call.idempotency?.fingerprint ?? '',
    replayOnly: call.isReplayOnly,
    nameUnsure: call.idempotency?.isNameUnsure === true,
    ifMatch: call.ifMatch,
    traceparent: call.traceparent ?? '',
    traceId: undefined,
    modelVersion: call.modelVersion,
    command: commandToWire(call.command),
  };
}

/** Commands to an account, whose calls have no instance id. */
const OF_NO_INSTANCE: ReadonlySet<EngineCommand['kind']> = new Set([
  'list',
  'readFleet',
  'readSummaries',
  'readIndexed',
  'recordTransitions',
  'readFeed',
  'webhook',
]);

function callOf(wire: EngineRequest, deadlineAtMs: number): EngineCall {
  const command = commandFromWire(wire.command);
  const { idempotencyKey: key, idempotencyFingerprint: fingerprint, ifMatch, modelVersion } = wire;
  const idLengthMax = OF_NO_INSTANCE.has(command.kind) ? 0 : TOKEN_LENGTH_MAX;
  trustText(key, 0, TOKEN_LENGTH_MAX, 'idempotency key');
  if (key !== '') trustText(fingerprint, 1, TOKEN_LENGTH_MAX, 'fingerprint');
  if (modelVersion !== undefined) trustText(modelVersion, 1, TOKEN_LENGTH_MAX, 'model version');
  if (ifMatch !== undefined) trustText(ifMatch, 0, IF_MATCH_LENGTH_MAX, 'If-Match');
  const call: EngineCall = {
    accountId: trustText(wire.accountId, 1, TOKEN_LENGTH_MAX, 'account id'),
    instanceId: trustText(wire.instanceId, Math.min(1, idLengthMax), idLengthMax, 'instance id'),
    callId: trustInteger(wire.callId, 0, CALL_ID_MAX, 'call id'),
    deadlineAtMs,
    idempotency: key === '' ? undefined : idempotencyOf(wire),
    isReplayOnly: wire.replayOnly,
    ifMatch,
    command,
  };
  if (modelVersion !== undefined) Object.assign(call, { modelVersion });
  return wire.traceparent === '' ? call : traced(call, traceparentIn(wire.traceparent));
}

function idempotencyOf(wire: EngineRequest): IdempotencyKey {
  const { idempotencyKey: key, idempotencyFingerprint: fingerprint, nameUnsure } = wire;
  return nameUnsure ? { key, fingerprint, isNameUnsure: true } : { key, fingerprint };
}

function answerToWire(answer: EngineAnswer): WireAnswer {
  const { body, etag, cycles, throttledRetryAfterS, isReplayed: replayed, cursor } = answer;
  const bytes = typeof body === 'string' ? Buffer.from(body) : body;
  const { next } = answer;
  return { body: bytes, etag, cycles, throttledRetryAfterS, replayed, cursor, next };
}

// The body stays a view of its frame, because it is forwarded and released within two turns.
function answerFromWire({
  body,
  etag,
  cycles,
  throttledRetryAfterS,
  replayed,
  cursor,
  next,
}: WireAnswer): EngineAnswer {
  const answer = {
    body,
    etag: trustText(etag, 0, TOKEN_LENGTH_MAX, 'etag'),
    cycles: trustInteger(cycles, 0, CYCLES_MAX, 'cycles'),
    throttledRetryAfterS,
    isReplayed: replayed,
  };
  if (next !== undefined)
    return { ...answer, next: trustText(next, 1, CURSOR_LENGTH_MAX, 'cursor') };
  return cursor === undefined ? answer : { ...answer, cursor: cursorFromWire(cursor) };
}

function textLengthOf(call: EngineCall): number {
  const head = (call.ifMatch?.length ?? 0) + (call.idempotency?.key.length ?? 0);
  return head + call.accountId.length + call.instanceId.length + commandTextLength(call.command);
}

function itemKeysLength(keys: readonly (IdempotencyKey | undefined)[] = []): number {
  let length = 0;
  for (const one of keys) {
    length += ID_BYTES;
    if (one !== undefined) length += one.key.length + one.fingerprint.length + ID_BYTES;
  }
  return length;
}

function namingLength({ name = '', description = '', tagsJson = '' }: NamingCommand): number {
  return name.length + description.length + tagsJson.length;
}

function forkLength(command: EngineCommand): number {
  return command.kind === 'create' ? (command.fork?.start?.state.length ?? 0) : 0;
}

function commandTextLength(command: EngineCommand): number {
  switch (command.kind) {
    case 'process':
    case 'simulate': {
      let length = command.kind === 'process' ? itemKeysLength(command.itemKeys) : 0;
      for (const { contextJson } of command.observations) {
        length += contextJson.length + OBSERVATION_BYTES;
      }
      return length;
    }
    case 'create':
    case 'rename':
      return namingLength(command) + forkLength(command);
    case 'putListingRow':
      return command.name.length + command.description.length + (command.tagsJson?.length ?? 0);
    case 'readSummaries':
    case 'readIndexed': {
      let length = 0;
      for (const id of command.instanceIds) length += id.length + ID_BYTES;
      return length;
    }
    case 'trim':
      return command.state?.length ?? 0;
    case 'recordTransitions':
      return rowsLength(command.rows);
    case 'readFeed':
      return command.cursor?.length ?? 0;
    case 'webhook':
      return webhookLength(command);
    case 'readInstance':
    case 'remove':
    case 'removeListingRow':
    case 'reservePlace':
    case 'readSnapshot':
    case 'readContract':
    case 'reset':
    case 'readHistory':
    case 'readDrift':
    case 'readEvents':
    case 'readStates':
    case 'readForkStart':
    case 'readFleet':
      return 0;
    case 'list':
      return listLength(command);
  }
}
