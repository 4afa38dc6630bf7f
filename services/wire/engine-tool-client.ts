import type { MethodDefinition, ServiceError } from '@grpc/grpc-js';
import { FAULTS, Fault, type FaultCode } from '#fault/fault';
import type { EngineTools } from '#wire/engine-tools';
import { EngineService } from '#wire/gen/identity_engine/v1/engine';
import { type UnaryCallOptions, unaryCall } from '#wire/unary-call';

/**
 * The tools of the engine at `address` (`host:port`), each call over a connection of its own. They
 * reject with the engine's own fault, or with `service_unavailable` when no engine of a cluster
 * answers there in time.
 */
export function connectEngineTools(address: string, options: UnaryCallOptions): EngineTools {
  async function ask<Request, Reply>(
    method: MethodDefinition<Request, Reply>,
    request: Request,
  ): Promise<Reply> {
    const reply = await unaryCall(address, method, request, options).catch(
      (error: ServiceError) => {
        throw faultOf(error, address);
      },
    );
    if (reply === undefined) throw nobodyAt(address, undefined);
    return reply;
  }

  return {
    async inspect(instanceId) {
      const { incarnation, served, active } = await ask(EngineService.inspect, { instanceId });
      return { incarnation, isServed: served, active };
    },
    drain: () => ask(EngineService.drain, {}),
  };
}

/** The fault that the engine named in the status's details, if it did. */
function faultOf(error: ServiceError, address: string): Fault {
  const [, code = '', message = ''] = /^(\w+): (.*)$/s.exec(error.details) ?? [];
  return isFaultCode(code) ? new Fault(code, message, { cause: error }) : nobodyAt(address, error);
}

function isFaultCode(code: string): code is FaultCode {
  return Object.hasOwn(FAULTS, code);
}

function nobodyAt(address: string, cause: unknown): Fault {
  const reason = 'engine_unavailable';
  const text = `no engine of a cluster answers at ${address}`;
  return new Fault('service_unavailable', text, { reason, cause });
}
