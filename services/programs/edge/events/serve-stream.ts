import type { FastifyReply, FastifyRequest } from 'fastify';
import type { AdmissionCall, Admitted } from '#edge/callers/admission';
import type { Endpoint } from '#edge/endpoints/endpoint';
import type { StreamCursor } from '#edge/events/event-stream';
import type { EventStreams } from '#edge/events/open-streams';
import { type Caller, LAST_EVENT_ID } from '#edge/http';
import type { CallIds, EngineCalls } from '#edge/serve/engine-calls';
import type { Reply } from '#edge/serve/reply';
import type { StreamCommand } from '#edge/serve/request-plan';
import { Fault, invalid } from '#errors/fault';

/** `serveStream` dependencies. */
type StreamPorts = {
  readonly streams: EventStreams;
  readonly engine: EngineCalls;
  readonly callIds: CallIds;
  readonly reply: Reply;
};

/** An admitted request for an event stream. */
type StreamRequest = {
  readonly endpoint: Endpoint;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly call: AdmissionCall;
  readonly command: StreamCommand;
  readonly admitted: Admitted;
};

/**
 * Asks the engine for the first events, and begins the stream with these events.
 *
 * If the first call fails, throws the refusal before anything is sent. The first call costs as much
 * as any read.
 */
export async function serveStream(asked: StreamRequest, ports: StreamPorts): Promise<void> {
  const { endpoint, request, reply, call, command, admitted } = asked;
  const { caller } = call;
  const { id = '' } = request.params as { id?: string };
  const ask = askerOf(caller, id, command, ports);
  using place = ports.streams.reserve(caller);
  const asking = async () => ask(undefined, 0);
  const first = await asking().catch((error: unknown) => {
    throw namedAsSent(error, request);
  });
  // The client may have disconnected during the engine call.
  if (reply.raw.destroyed) return;
  const response = ports.reply.stream(request, reply, endpoint, admitted.headers);
  const keyEndsAtMs = admitted.description?.keyExpiresAtMs;
  place.begin({ response, keyEndsAtMs, ask }, first);
}

/**
 * Creates the function that asks for the events after a cursor. Without a cursor, the command
 * decides where the events begin. The stream keeps nothing else from its request in memory.
 */
function askerOf(
  caller: Caller,
  instanceId: string,
  begun: StreamCommand,
  { engine, callIds }: StreamPorts,
) {
  return (after: StreamCursor | undefined, waitMs: number) =>
    engine.ask(caller, {
      command: after === undefined ? begun : continued(begun, after, waitMs),
      instanceId,
      callId: callIds.next(),
      idempotency: undefined,
      isReplayOnly: false,
      ifMatch: undefined,
    });
}

function continued(begun: StreamCommand, after: StreamCursor, waitMs: number): StreamCommand {
  if (begun.kind === 'readEvents') {
    return { ...begun, after: typeof after === 'string' ? undefined : after, waitMs };
  }
  return { ...begun, cursor: typeof after === 'string' ? after : undefined, waitMs };
}

/**
 * Names the `Last-Event-ID` header in a refusal, if the ordinal came from this header. The engine
 * gets the ordinal without its origin.
 */
function namedAsSent(error: unknown, { headers }: FastifyRequest): unknown {
  const isRefused = error instanceof Fault && error.reason === 'invalid_parameter';
  if (!isRefused || headers[LAST_EVENT_ID] === undefined) return error;
  return invalid('invalid_header', 'Last-Event-ID', error.message);
}
