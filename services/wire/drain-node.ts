import { askTool } from '#wire/ask-tool';
import { NodeService } from '#wire/gen/identity_engine/v1/node';
import type { DrainProgress } from '#wire/node-tools';
import type { UnaryCallOptions } from '#wire/unary-call';

/** `NodeTools.drain` of the engine or limiter at `address` (`host:port`). */
export function drainNode(address: string, options: UnaryCallOptions): Promise<DrainProgress> {
  return askTool({ address, kind: 'node' }, NodeService.drain, {}, options);
}
