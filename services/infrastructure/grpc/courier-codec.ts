import { COURIER_MS_MAX, MESSAGE_BYTES, TOKEN_LENGTH_MAX } from '#grpc/call-bounds';
import {
  ANSWER_BYTES_SHOWN,
  CONTENT_TYPE_SHOWN,
  type CourierOutcome,
  type OutgoingMessage,
  type ShownAnswer,
} from '#grpc/courier-messages';
import { trustInteger, trustText } from '#grpc/frame';
import type { FrameProtocol } from '#grpc/frame-protocol';
import {
  CourierReply,
  CourierRequest,
  CourierService,
  type CourierAnswer as WireAnswer,
  type ShownAnswer as WireShown,
} from '#grpc/gen/identity_engine/v1/courier';
import { traced, traceparentIn } from '#telemetry/tracer';

/** Maximum length of an address and of a header of an endpoint, in UTF-16 units. */
const TEXT_LENGTH_MAX = 8_192;
/** Maximum length of a body, in UTF-16 units. */
const BODY_LENGTH_MAX = 1_024 * 1_024;
/** Maximum number of secrets that sign. */
const SECRETS_MAX = 8;
/** Maximum HTTP status. */
const STATUS_MAX = 999;
/** Maximum UTF-8 bytes per UTF-16 unit. */
const BYTES_PER_UNIT_MAX = 3;

/** Frame protocol of the courier, for engines. */
export const courierProtocol: FrameProtocol<
  OutgoingMessage,
  CourierOutcome,
  CourierRequest,
  WireAnswer
> = {
  name: 'identity_engine.v1.Courier',
  role: 'courier',
  exchangePath: CourierService.exchange.path,
  nameOf: () => 'deliver',
  ask: CourierService.ask,
  unavailable: 'courier_unavailable',
  timedOut: 'courier_unavailable',
  timeoutMs: COURIER_MS_MAX,
  deadlineAtMsOf: () => Number.POSITIVE_INFINITY,
  // The duration depends on the endpoint.
  waits: () => true,
  request: CourierRequest,
  reply: CourierReply,
  sizeOfCall: ({ url, body }) => MESSAGE_BYTES + BYTES_PER_UNIT_MAX * (url.length + body.length),
  requestOf(id, timeoutMs, message) {
    const { endpointId, url, id: messageId, body, sealedSecrets, traceparent = '' } = message;
    const trace = { traceparent, traceId: undefined };
    const secrets = [...sealedSecrets];
    return { id, timeoutMs, ...trace, endpointId, url, messageId, body, sealedSecrets: secrets };
  },
  callOf(wire) {
    trustInteger(wire.sealedSecrets.length, 1, SECRETS_MAX, 'number of secrets');
    const text = (value: string, lengthMax: number, what: string) =>
      trustText(value, 1, lengthMax, what);
    const message = {
      endpointId: text(wire.endpointId, TOKEN_LENGTH_MAX, 'endpoint id'),
      url: text(wire.url, TEXT_LENGTH_MAX, 'address'),
      id: text(wire.messageId, TOKEN_LENGTH_MAX, 'message id'),
      body: text(wire.body, BODY_LENGTH_MAX, 'body'),
      sealedSecrets: wire.sealedSecrets.map((each) => text(each, TOKEN_LENGTH_MAX, 'secret')),
    };
    const { traceparent } = wire;
    return traceparent === '' ? message : traced(message, traceparentIn(traceparent));
  },
  sizeOfAnswer: (outcome) => MESSAGE_BYTES + BYTES_PER_UNIT_MAX * shownLength(outcome),
  answerToWire(outcome) {
    const resealed = [...(outcome.resealed ?? [])];
    if (outcome.kind === 'failed') {
      return { status: 0, failure: outcome.failure, resealed, shown: undefined };
    }
    const { status, retryAfter, shown } = outcome;
    return { status, retryAfter, failure: '', resealed, shown: shown && shownToWire(shown) };
  },
  answerFromWire({ status, retryAfter, failure, resealed, shown }) {
    trustInteger(resealed.length, 0, SECRETS_MAX, 'number of secrets');
    for (const each of resealed) trustText(each, 1, TOKEN_LENGTH_MAX, 'secret');
    const changed = resealed.length === 0 ? {} : { resealed };
    if (status === 0) {
      const cause = trustText(failure, 1, TOKEN_LENGTH_MAX, 'failure');
      return { kind: 'failed', failure: cause, ...changed };
    }
    if (retryAfter !== undefined) trustText(retryAfter, 0, TEXT_LENGTH_MAX, 'Retry-After');
    const known = trustInteger(status, 1, STATUS_MAX, 'status');
    const seen = shown === undefined ? {} : { shown: shownFromWire(shown) };
    return { kind: 'answered', status: known, retryAfter, ...seen, ...changed };
  },
};

function shownToWire({ contentType, text, isCut }: ShownAnswer): WireShown {
  return { contentType, text, cut: isCut };
}

/** A courier of a later release may show more, so longer texts are cut, not refused. */
function shownFromWire({ contentType, text, cut }: WireShown): ShownAnswer {
  return {
    contentType: contentType.slice(0, CONTENT_TYPE_SHOWN),
    text: text.slice(0, ANSWER_BYTES_SHOWN),
    isCut: cut || text.length > ANSWER_BYTES_SHOWN,
  };
}

function shownLength(outcome: CourierOutcome): number {
  if (outcome.kind === 'failed' || outcome.shown === undefined) return 0;
  const { contentType, text } = outcome.shown;
  return contentType.length + text.length;
}
