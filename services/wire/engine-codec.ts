import { commandFromWire, commandToWire } from '#wire/engine-command-codec';
import type {
  EngineAnswer,
  EngineCall,
  EngineCommand,
  IdempotencyKey,
} from '#wire/engine-messages';
import { faultFromWire, faultToWire } from '#wire/fault-codec';
import type { ClientProtocol, ServerProtocol } from '#wire/frame-protocol';
import { EngineReply, EngineRequest, EngineService } from '#wire/gen/identity_engine/v1/engine';
import { brokenMessage, trustInteger, trustText } from '#wire/wire-trust';

/** Longest id, digest or ETag, in UTF-16 units; an idempotency key may have 255 (decision 22). */
const TOKEN_LENGTH_MAX = 255;
/** Longest `If-Match`, in UTF-16 units: a list of ETags as long as a header may be. */
const IF_MATCH_LENGTH_MAX = 16_384;
/** Call ids are below 2^52. Source: engine-messages. */
const CALL_ID_MAX = 2 ** 52 - 1;
/** Cycles of one call. Source: decision 10. */
const CYCLES_MAX = 100;
/** Fields of fixed size, tags and ids of one message, in bytes, rounded up. */
const MESSAGE_BYTES = 4_096;
/** Numbers and tags of one observation, in bytes, rounded up. */
const OBSERVATION_BYTES = 64;
/** Tag and length of one id of a list, in bytes, rounded up. */
const ID_BYTES = 4;
/** UTF-8 bytes of a UTF-16 unit, at most. */
const BYTES_PER_UNIT_MAX = 3;

/** The engine's stream as an edge speaks it. */
export const engineClientProtocol: ClientProtocol<EngineCall, EngineAnswer, EngineReply> = {
  path: EngineService.exchange.path,
  sizeOfCall(call) {
    return MESSAGE_BYTES + BYTES_PER_UNIT_MAX * textLengthOf(call);
  },
  writeCall(writer, id, timeoutMs, call) {
    EngineRequest.encode(requestOf(id, timeoutMs, call), writer);
  },
  writeCancel(writer, id) {
    EngineRequest.encode({ ...CANCEL, id }, writer);
  },
  readReply: (reader, length) => EngineReply.decode(reader, length),
  answerOf,
};

/** The engine's stream as an engine speaks it. */
export const engineServerProtocol: ServerProtocol<EngineCall, EngineAnswer, EngineRequest> = {
  readRequest: (reader, length) => EngineRequest.decode(reader, length),
  callOf,
  sizeOfAnswer({ body }) {
    return MESSAGE_BYTES + (typeof body === 'string' ? Buffer.byteLength(body) : body.length);
  },
  writeAnswer(writer, id, answer) {
    EngineReply.encode(engineReplyOf(id, answer), writer);
  },
  writeFault(writer, id, fault) {
    EngineReply.encode({ id, outcome: { $case: 'fault', value: faultToWire(fault) } }, writer);
  },
};

const CANCEL: EngineRequest = {
  id: 0,
  timeoutMs: 0,
  accountId: '',
  instanceId: '',
  callId: 0,
  idempotencyKey: '',
  idempotencyFingerprint: '',
  replayOnly: false,
  nameUnsure: false,
  ifMatch: undefined,
  command: undefined,
};

/** A call as `proto/` writes it; `timeoutMs` is what is left of its deadline. */
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
    command: commandToWire(call.command),
  };
}

function callOf(wire: EngineRequest, deadlineAtMs: number): EngineCall {
  const command = commandFromWire(wire.command);
  const { idempotencyKey: key, idempotencyFingerprint: fingerprint, ifMatch } = wire;
  const isOfNoInstance = command.kind === 'list' || command.kind === 'peek';
  const idLengthMax = isOfNoInstance ? 0 : TOKEN_LENGTH_MAX;
  trustText(key, 0, TOKEN_LENGTH_MAX, 'idempotency key');
  if (key !== '') trustText(fingerprint, 1, TOKEN_LENGTH_MAX, 'fingerprint');
  if (ifMatch !== undefined) trustText(ifMatch, 0, IF_MATCH_LENGTH_MAX, 'If-Match');
  return {
    accountId: trustText(wire.accountId, 1, TOKEN_LENGTH_MAX, 'account id'),
    instanceId: trustText(wire.instanceId, Math.min(1, idLengthMax), idLengthMax, 'instance id'),
    callId: trustInteger(wire.callId, 0, CALL_ID_MAX, 'call id'),
    deadlineAtMs,
    idempotency: key === '' ? undefined : idempotencyOf(wire),
    isReplayOnly: wire.replayOnly,
    ifMatch,
    command,
  };
}

function idempotencyOf(wire: EngineRequest): IdempotencyKey {
  const { idempotencyKey: key, idempotencyFingerprint: fingerprint, nameUnsure } = wire;
  return nameUnsure ? { key, fingerprint, isNameUnsure: true } : { key, fingerprint };
}

/** An answer as `proto/` writes it. */
export function engineReplyOf(id: number, answer: EngineAnswer): EngineReply {
  const { body, etag, cycles, throttledRetryAfterS, isReplayed: replayed } = answer;
  const bytes = typeof body === 'string' ? Buffer.from(body) : body;
  const value = { body: bytes, etag, cycles, throttledRetryAfterS, replayed };
  return { id, outcome: { $case: 'answer', value } };
}

// The body stays a view of the frame it came in: it is forwarded and forgotten within a turn or two.
function answerOf({ outcome }: EngineReply): EngineAnswer {
  if (outcome === undefined) throw brokenMessage('outcome');
  if (outcome.$case === 'fault') throw faultFromWire(outcome.value);
  const { body, etag, cycles, throttledRetryAfterS, replayed } = outcome.value;
  return {
    body,
    etag: trustText(etag, 0, TOKEN_LENGTH_MAX, 'etag'),
    cycles: trustInteger(cycles, 0, CYCLES_MAX, 'cycles'),
    throttledRetryAfterS,
    isReplayed: replayed,
  };
}

function textLengthOf(call: EngineCall): number {
  const head = (call.ifMatch?.length ?? 0) + (call.idempotency?.key.length ?? 0);
  return head + call.accountId.length + call.instanceId.length + commandTextLength(call.command);
}

function commandTextLength(command: EngineCommand): number {
  switch (command.kind) {
    case 'process': {
      let length = 0;
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
    case 'peek': {
      let length = 0;
      for (const id of command.instanceIds) length += id.length + ID_BYTES;
      return length;
    }
    case 'readInstance':
    case 'remove':
    case 'removeListingRow':
    case 'reservePlace':
    case 'readSnapshot':
    case 'readContract':
    case 'reset':
    case 'readHistory':
    case 'readDrift':
    case 'list':
      return 0;
  }
}
