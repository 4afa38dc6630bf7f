import assert from 'node:assert/strict';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Operation, Task } from '#edge/operation';
import { engineOperations } from '#edge/routes/engine';
import { instanceOperations } from '#edge/routes/instances';
import type { EngineCommand } from '#wire/engine-messages';

/** What a caller sends. */
export type SimulatedRequest = {
  readonly operation: EngineCommand;
  /** The id in the path; empty for none. */
  readonly instance: string;
  /** Names the content, for its fingerprint. */
  readonly content: string;
  readonly key: string | undefined;
  readonly ifMatch: string | undefined;
};

/** Which operation of the API asks the engine for what. */
const NAMES: Partial<Record<EngineCommand['kind'], string>> = {
  create: 'createInstance',
  rename: 'updateInstance',
  remove: 'deleteInstance',
  list: 'listInstances',
  process: 'processObservation',
  reset: 'resetInstance',
  readSnapshot: 'getSnapshot',
  readContract: 'getContract',
  readHistory: 'getHistory',
};

const operations = new Map<string, Operation>(
  [...instanceOperations, ...engineOperations].map((operation) => [
    operation.name,
    {
      ...operation,
      // The task comes along as it is, in the place of body and query.
      query: z.unknown(),
      compiledBody: undefined,
      plan: ({ query }) => query as Task,
      // Every caller here may use keys and conditions, and wants to know the version.
      isKeyed: true,
      isGuarded: true,
      isTagged: true,
    },
  ]),
);

/** The operation of the API that a request is for. */
export function apiOperationOf({ operation }: SimulatedRequest): Operation {
  const found = operations.get(NAMES[operation.kind] ?? '');
  assert(found !== undefined, `callers have no way to ask for ${operation.kind}`);
  return found;
}

/** The request as far as the edge's own code looks at it behind its HTTP server. */
export function httpRequestOf(request: SimulatedRequest): FastifyRequest {
  const { operation, instance, content, key, ifMatch } = request;
  const cycles = operation.kind === 'process' ? operation.observations.length : 0;
  const task: Task = { kind: 'engine', operation, cycles };
  const seen = {
    ip: '10.0.0.1',
    method: apiOperationOf(request).method,
    url: `/${content}?`,
    query: task,
    params: { id: instance },
    headers: { 'idempotency-key': key, 'if-match': ifMatch },
  };
  return seen as unknown as FastifyRequest;
}
