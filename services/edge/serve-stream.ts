import type { FastifyReply, FastifyRequest } from 'fastify';
import type { AdmissionCall, Admitted } from '#edge/admission';
import type { CallIds } from '#edge/call-identity';
import type { Endpoint } from '#edge/endpoint';
import type { EngineCalls } from '#edge/engine-calls';
import type { EventStreams } from '#edge/event-streams';
import type { Caller } from '#edge/exchange';
import { LAST_EVENT_ID } from '#edge/last-event-id';
import type { Reply } from '#edge/reply';
import { Fault, invalid } from '#fault/fault';
import type { EngineCommand, EventCursor } from '#wire/engine-messages';

/** What a stream is opened with. */
type StreamPorts = {
  readonly streams: EventStreams;
  readonly engine: EngineCalls;
  readonly callIds: CallIds;
  readonly reply: Reply;
};

/** An admitted request for a stream of events. */
type StreamRequest = {
  readonly endpoint: Endpoint;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly call: AdmissionCall;
  readonly command: Extract<EngineCommand, { kind: 'readEvents' }>;
  readonly admitted: Admitted;
};

/**
 * Asks the engine for the first events, which costs no more than any question, begins the answer with
 * them, and leaves it to the stream. Throws what the request is refused with: then nothing was sent.
 */
export async function serveStream(asked: StreamRequest, ports: StreamPorts): Promise<void> {
  const { endpoint, request, reply, call, command, admitted } = asked;
  const { caller } = call;
  const { id } = request.params as { id: string };
  const ask = askerOf(caller, id, ports);
  using place = ports.streams.reserve(caller);
  const asking = async () => ask(command.after, 0);
  const first = await asking().catch((error: unknown) => {
    throw namedAsSent(error, request);
  });
  // The caller may have gone while the engine was asked.
  if (reply.raw.destroyed) return;
  const response = ports.reply.stream(request, reply, endpoint, admitted.headers);
  const keyEndsAtMs = admitted.description?.keyExpiresAtMs;
  place.begin({ response, keyEndsAtMs, ask }, first);
}

/** Asks for the events of an instance; all that a stream keeps of its request. */
function askerOf(caller: Caller, instanceId: string, { engine, callIds }: StreamPorts) {
  return (after: EventCursor | undefined, waitMs: number) =>
    engine.ask(caller, {
      command: { kind: 'readEvents', after, waitMs },
      instanceId,
      callId: callIds.next(),
      idempotency: undefined,
      isReplayOnly: false,
      ifMatch: undefined,
    });
}

/** An engine does not know where the ordinal that it refuses came from. */
function namedAsSent(error: unknown, { headers }: FastifyRequest): unknown {
  const isRefused = error instanceof Fault && error.reason === 'invalid_parameter';
  if (!isRefused || headers[LAST_EVENT_ID] === undefined) return error;
  return invalid('invalid_header', 'Last-Event-ID', error.message);
}
