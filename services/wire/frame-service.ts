import * as grpc from '@grpc/grpc-js';
import { Fault } from '#fault/fault';
import type { WireRequest } from '#wire/frame-protocol';
import { type FrameServerOptions, FrameServerStream } from '#wire/frame-server';
import { unaryHandler } from '#wire/unary-handler';
import { CALL_TIMEOUT_MS_MAX } from '#wire/wire-bounds';
import type { WireService } from '#wire/wire-service';

/** A framed service: what `proto/` says of it, and how a call handler's answer is written. */
export type FramedService<Request, Reply, Answer> = {
  /** Full name, as the health protocol names it. */
  readonly name: string;
  /** Path of the stream method. */
  readonly exchangePath: string;
  /** The unary method for tools. */
  readonly ask: grpc.MethodDefinition<Request, Reply>;
  readonly replyOf: (id: number, answer: Answer) => Reply;
};

const asIs = (bytes: Buffer): Buffer => bytes;

/**
 * A service of `proto/` behind a call handler: the framed stream `Exchange`, and `Ask` for tools,
 * one call without a stream. `Ask` answers a fault as a gRPC status with the code as its detail.
 */
export function frameService<Call, Answer, Request extends WireRequest, Reply>(
  { name, exchangePath, ask, replyOf }: FramedService<Request, Reply, Answer>,
  options: FrameServerOptions<Call, Answer, Request>,
): WireService {
  const streams = new Set<FrameServerStream<Call, Answer, Request>>();
  let isDraining = false;

  function exchange(stream: grpc.ServerDuplexStream<Buffer, Buffer>): void {
    const served = new FrameServerStream(stream, options, () => streams.delete(served));
    streams.add(served);
    // The headers tell the client that it is heard, before it has said anything.
    stream.sendMetadata(new grpc.Metadata());
    if (isDraining) served.drain();
  }

  async function answer(request: Request): Promise<Reply> {
    if (isDraining) {
      const reason = 'shutting_down';
      throw new Fault('service_unavailable', 'the service is shutting down', { reason });
    }
    const timeoutMs = Math.min(request.timeoutMs || CALL_TIMEOUT_MS_MAX, CALL_TIMEOUT_MS_MAX);
    const call = callOf(request, options.clock.wallMs() + timeoutMs);
    const reply = await options.handler(call, { signal: AbortSignal.timeout(timeoutMs) });
    return replyOf(request.id, reply);
  }

  // A person types these calls, so a wrong one is refused with what is wrong about it.
  function callOf(request: Request, deadlineAtMs: number): Call {
    try {
      return options.protocol.callOf(request, deadlineAtMs);
    } catch (error) {
      const cause = error instanceof Fault ? error.cause : error;
      throw new Fault('invalid_request', `not understood: ${String(cause)}`, { cause });
    }
  }

  return {
    name,
    definition: { exchange: exchangeDefinition(exchangePath), ask },
    implementation: { exchange, ask: unaryHandler(answer, options.reportBug) },
    drain() {
      isDraining = true;
      for (const stream of streams) stream.drain();
    },
  };
}

// Frames are decoded by us, message by message; gRPC only carries them.
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
