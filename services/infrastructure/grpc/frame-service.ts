import * as grpc from '@grpc/grpc-js';
import { Fault } from '#errors/fault';
import { type UnaryCaller, unaryHandler } from '#grpc/admin';
import { ACCOUNT_CALL_MS_MAX, CALL_TIMEOUT_MS_MAX, SERVER_CALLS_IN_FLIGHT_MAX } from '#grpc/bounds';
import { inServerSpan } from '#grpc/call-span';
import type { CallTarget } from '#grpc/call-target';
import {
  callOfPeer,
  type FrameProtocol,
  type WireReply,
  type WireRequest,
} from '#grpc/frame-protocol';
import { type FrameServerPorts, FrameServerStream } from '#grpc/frame-server';
import type { WireService } from '#grpc/grpc-server';
import { isUnknownCall, rolesOfCall, type WireRole } from '#grpc/tls';
import { systemClock } from '#stdlib/clock';
import { type Traced, traced, traceparentIn } from '#telemetry/tracer';

/** Dependencies of a served engine or limiter. */
export type FrameServiceOptions = Partial<FrameServerPorts>;

const asIs = (bytes: Buffer): Buffer => bytes;

/**
 * gRPC service that serves `target` to `FrameClient`s of the same protocol. `Exchange` is the
 * framed stream. `Ask` is a unary method for tools. `Ask` answers a fault as a gRPC status with the
 * fault's code in the details.
 */
export function frameService<Call extends Traced, Answer, Request extends WireRequest, WireAnswer>(
  protocol: FrameProtocol<Call, Answer, Request, WireAnswer>,
  target: CallTarget<Call, Answer>,
  options: FrameServiceOptions = {},
): WireService {
  const { clock = systemClock, callsInFlightMax = SERVER_CALLS_IN_FLIGHT_MAX } = options;
  const { reportBug = () => undefined, observer, tracer } = options;
  const stream = { protocol, target, clock, callsInFlightMax, reportBug, observer, tracer };
  const streams = new Set<FrameServerStream<Call, Answer, Request, WireAnswer>>();
  let isDraining = false;

  function exchange(duplex: grpc.ServerDuplexStream<Buffer, Buffer>): void {
    const served = new FrameServerStream(duplex, stream, () => streams.delete(served));
    streams.add(served);
    // The headers show the client that the stream is open, before it has sent anything.
    duplex.sendMetadata(new grpc.Metadata());
    if (isDraining) served.drain();
  }

  async function answer(request: Request, from: UnaryCaller): Promise<WireReply<WireAnswer>> {
    if (isDraining) {
      const reason = 'shutting_down';
      throw new Fault('service_unavailable', 'the service is shutting down', { reason });
    }
    const timeoutMs = Math.min(request.timeoutMs || CALL_TIMEOUT_MS_MAX, ACCOUNT_CALL_MS_MAX);
    const call = callOf(request, clock.wallMs() + timeoutMs, rolesOfCall(from));
    const asked = traced(call, tracedBy(from.metadata));
    const reply = await inServerSpan(tracer, protocol, asked, async (own) => target.ask(own));
    return { id: request.id, outcome: { $case: 'answer', value: protocol.answerToWire(reply) } };
  }

  // People type these calls, so the refusal of a wrong call says what is wrong.
  function callOf(
    request: Request,
    deadlineAtMs: number,
    roles: readonly WireRole[] | undefined,
  ): Call {
    try {
      return callOfPeer(protocol, request, deadlineAtMs, roles);
    } catch (error) {
      if (isUnknownCall(error)) throw error;
      const cause = error instanceof Fault ? error.cause : error;
      throw new Fault('invalid_request', `not understood: ${String(cause)}`, { cause });
    }
  }

  return {
    name: protocol.name,
    definition: { exchange: exchangeDefinition(protocol.exchangePath), ask: protocol.ask },
    implementation: { exchange, ask: unaryHandler(answer, reportBug) },
    drain() {
      isDraining = true;
      for (const served of streams) served.drain();
    },
  };
}

/** Traceparent from the metadata of a unary call, where gRPC tools put it. */
function tracedBy(metadata: grpc.Metadata): string | undefined {
  const [sent] = metadata.get('traceparent');
  return typeof sent === 'string' ? traceparentIn(sent) : undefined;
}

// gRPC passes frames as bytes; the stream decodes them message by message.
function exchangeDefinition(path: string): grpc.MethodDefinition<Buffer, Buffer> {
  return {
    path,
    requestStream: true,
    responseStream: true,
    requestSerialize: asIs,
    requestDeserialize: asIs,
    responseSerialize: asIs,
    responseDeserialize: asIs,
  };
}
