import type * as grpc from '@grpc/grpc-js';
import { FAULTS, Fault, toFault } from '#fault/fault';
import type { EngineTools } from '#wire/engine-tools';
import {
  type DrainReply,
  type DrainRequest,
  EngineService,
  type InspectReply,
  type InspectRequest,
} from '#wire/gen/identity_engine/v1/engine';
import type { WireService } from '#wire/wire-service';

/**
 * `service` with the unary methods `Inspect` and `Drain`. They answer also while the service drains:
 * an operator looks most closely then. A fault is a gRPC status with the code as its detail.
 */
export function withEngineTools(
  service: WireService,
  tools: EngineTools,
  reportBug: (error: unknown) => void,
): WireService {
  function answering<Reply>(respond: grpc.sendUnaryData<Reply>, answer: Promise<Reply>): void {
    answer.then(
      (reply) => respond(null, reply),
      (error: unknown) => {
        if (!(error instanceof Fault)) reportBug(error);
        const { code, message } = toFault(error);
        respond({ code: FAULTS[code].grpc, details: `${code}: ${message}` });
      },
    );
  }

  const inspect: grpc.handleUnaryCall<InspectRequest, InspectReply> = ({ request }, respond) =>
    answering(respond, inspected(tools, request.instanceId));
  const drain: grpc.handleUnaryCall<DrainRequest, DrainReply> = (_call, respond) =>
    answering(respond, tools.drain());
  return {
    ...service,
    definition: {
      ...service.definition,
      inspect: EngineService.inspect,
      drain: EngineService.drain,
    },
    implementation: { ...service.implementation, inspect, drain },
  };
}

async function inspected(tools: EngineTools, instanceId: string): Promise<InspectReply> {
  const { incarnation, isServed, active } = await tools.inspect(instanceId);
  const unstoredCycles = [...(active?.unstoredCycles ?? [])];
  const reply = active === undefined ? undefined : { ...active, unstoredCycles };
  return { incarnation, served: isServed, active: reply };
}
