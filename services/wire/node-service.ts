import { NodeService } from '#wire/gen/identity_engine/v1/node';
import type { NodeTools } from '#wire/node-tools';
import type { WireService } from '#wire/wire-service';
import { withTool } from '#wire/with-tool';

/**
 * What `identify` and `drainNode` ask: served beside an engine or a limiter. It answers also while
 * the process stops, because one that leaves is not dead yet (architecture 3.3).
 */
export function nodeService(
  node: NodeTools,
  reportBug: (error: unknown) => void = () => undefined,
): WireService {
  const empty: WireService = {
    name: 'identity_engine.v1.Node',
    definition: {},
    implementation: {},
    drain: () => undefined,
  };
  const identify = {
    name: 'identify',
    method: NodeService.identify,
    answer: async () => ({ incarnation: node.identity() }),
  };
  const drain = { name: 'drain', method: NodeService.drain, answer: async () => node.drain() };
  return withTool(withTool(empty, identify, reportBug), drain, reportBug);
}
