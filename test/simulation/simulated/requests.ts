import assert from 'node:assert/strict';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { ENDPOINTS } from '#edge/endpoints/all';
import type { Endpoint } from '#edge/endpoints/endpoint';
import type { EngineCommand } from '#grpc/engine-messages';

/** A request to a simulated edge. */
export type SimulatedRequest = {
  readonly command: EngineCommand;
  /** Instance id in the path; empty for create and list. */
  readonly instance: string;
  /** Text to fingerprint instead of the body. */
  readonly content: string;
  readonly key: string | undefined;
  readonly ifMatch: string | undefined;
};

/** Endpoint name of each engine command. */
const NAMES: Partial<Record<EngineCommand['kind'], string>> = {
  create: 'createInstance',
  rename: 'updateInstance',
  remove: 'deleteInstance',
  list: 'listInstances',
  process: 'processObservation',
  reset: 'resetInstance',
  readInstance: 'getInstance',
  readSnapshot: 'getSnapshot',
  readContract: 'getContract',
  readHistory: 'getHistory',
};

const endpoints = new Map<string, Endpoint>(
  ENDPOINTS.map((endpoint) => [
    endpoint.name,
    {
      ...endpoint,
      // `query` contains the command, which replaces the body and the query of a real request.
      query: z.unknown(),
      compiledBody: undefined,
      cyclesOf: ({ query }) => cyclesOf(query as EngineCommand),
      handler: { kind: 'engine', command: ({ query }) => query as EngineCommand },
      // All requests may have a key and a condition, and all answers have an ETag.
      isKeyed: true,
      isGuarded: true,
      isTagged: true,
    },
  ]),
);

/** Endpoint that serves a request. */
export function endpointOf({ command }: SimulatedRequest): Endpoint {
  const found = endpoints.get(NAMES[command.kind] ?? '');
  assert(found !== undefined, `no endpoint for the command ${command.kind}`);
  return found;
}

/** HTTP request with only the fields that the simulated edge reads. */
export function httpRequestOf(request: SimulatedRequest): FastifyRequest {
  const { command, instance, content, key, ifMatch } = request;
  const seen = {
    ip: '10.0.0.1',
    method: endpointOf(request).method,
    url: `/${content}?`,
    query: command,
    params: { id: instance },
    headers: { 'idempotency-key': key, 'if-match': ifMatch },
  };
  return seen as unknown as FastifyRequest;
}

function cyclesOf(command: EngineCommand): number {
  return command.kind === 'process' ? command.observations.length : 0;
}
