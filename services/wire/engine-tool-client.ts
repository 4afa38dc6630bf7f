import { askTool } from '#wire/ask-tool';
import type { EngineTools } from '#wire/engine-tools';
import { EngineService } from '#wire/gen/identity_engine/v1/engine';
import type { UnaryCallOptions } from '#wire/unary-call';

/**
 * The tools of the engine at `address` (`host:port`), each call over a connection of its own. They
 * reject with the engine's own fault, or with `service_unavailable` when no engine of a cluster
 * answers there in time.
 */
export function connectEngineTools(address: string, options: UnaryCallOptions): EngineTools {
  const peer = { address, kind: 'engine' } as const;
  return {
    async inspect(instanceId) {
      const reply = await askTool(peer, EngineService.inspect, { instanceId }, options);
      const { incarnation, served, active } = reply;
      return { incarnation, isServed: served, active };
    },
  };
}
