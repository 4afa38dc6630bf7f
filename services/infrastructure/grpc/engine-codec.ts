import {
  CALL_ID_MAX,
  CALL_TIMEOUT_MS_MAX,
  CYCLES_MAX,
  MESSAGE_BYTES,
  TOKEN_LENGTH_MAX,
} from '#grpc/bounds';
import { commandFromWire, commandToWire, cursorFromWire } from '#grpc/engine-command-codec';
import type {
  EngineAnswer,
  EngineCall,
  EngineCommand,
  IdempotencyKey,
} from '#grpc/engine-messages';
import type { FrameProtocol } from '#grpc/frame-protocol';
import {
  EngineReply,
  EngineRequest,
  EngineService,
  type EngineAnswer as WireAnswer,
} from '#grpc/gen/identity_engine/v1/engine';
import { trustInteger, trustText } from '#grpc/tls';
import { traced, traceparentIn } from '#telemetry/tracer';

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
  waits: ({ command }) => command.kind === 'readEvents' && command.waitMs > 0,
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
    modelVersion: call.modelVersion,
    command: commandToWire(call.command),
  };
}

function callOf(wire: EngineRequest, deadlineAtMs: number): EngineCall {
  const command = commandFromWire(wire.command);
  const { idempotencyKey: key, idempotencyFingerprint: fingerprint, ifMatch, modelVersion } = wire;
  const isOfNoInstance = command.kind === 'list' || command.kind === 'readSummaries';
  const idLengthMax = isOfNoInstance ? 0 : TOKEN_LENGTH_MAX;
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
  return { body: bytes, etag, cycles, throttledRetryAfterS, replayed, cursor };
}

// The body stays a view of its frame, because it is forwarded and released within two turns.
function answerFromWire({
  body,
  etag,
  cycles,
  throttledRetryAfterS,
  replayed,
  cursor,
}: WireAnswer): EngineAnswer {
  const answer = {
    body,
    etag: trustText(etag, 0, TOKEN_LENGTH_MAX, 'etag'),
    cycles: trustInteger(cycles, 0, CYCLES_MAX, 'cycles'),
    throttledRetryAfterS,
    isReplayed: replayed,
  };
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
      return (command.name?.length ?? 0) + (command.description?.length ?? 0);
    case 'putListingRow':
      return command.name.length + command.description.length;
    case 'readSummaries': {
      let length = 0;
      for (const id of command.instanceIds) length += id.length + ID_BYTES;
      return length;
    }
    case 'trim':
      return command.state?.length ?? 0;
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
      return 0;
    case 'list':
      return command.search?.length ?? 0;
  }
}
