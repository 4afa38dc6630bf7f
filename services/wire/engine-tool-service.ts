import type { EngineTools } from '#wire/engine-tools';
import { EngineService, type InspectReply } from '#wire/gen/identity_engine/v1/engine';
import type { WireService } from '#wire/wire-service';
import { withTool } from '#wire/with-tool';

/** `service` with the unary method `Inspect`. */
export function withEngineTools(
  service: WireService,
  tools: EngineTools,
  reportBug: (error: unknown) => void,
): WireService {
  const inspect = {
    name: 'inspect',
    method: EngineService.inspect,
    answer: ({ instanceId }: { readonly instanceId: string }) => inspected(tools, instanceId),
  };
  return withTool(service, inspect, reportBug);
}

async function inspected(tools: EngineTools, instanceId: string): Promise<InspectReply> {
  const { incarnation, isServed, active } = await tools.inspect(instanceId);
  const unstoredCycles = [...(active?.unstoredCycles ?? [])];
  const reply = active === undefined ? undefined : { ...active, unstoredCycles };
  return { incarnation, served: isServed, active: reply };
}
