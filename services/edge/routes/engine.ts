import { assertAscending, assertNotFuture } from '#edge/observation-times';
import { type Operation, operation } from '#edge/operation';
import {
  Contract,
  CurrentSnapshot,
  DriftEvents,
  dataOf,
  HistoryRecord,
  Processed,
  ProcessedBatch,
  pageOf,
  ResetDone,
} from '#edge/schemas/answers';
import { ResetInstance } from '#edge/schemas/instance';
import { Batch, Observation, observationInput } from '#edge/schemas/observation';
import { DriftQuery, HistoryQuery, NoQuery } from '#edge/schemas/query';

const tag = 'Engine' as const;

/** Engine operations, in the order of spec 4.2. */
export const engineOperations: readonly Operation[] = [
  operation({
    name: 'processObservation',
    method: 'POST',
    path: '/instances/:id/process',
    summary: 'Process one observation: one cycle',
    tag,
    scope: 'full',
    query: NoQuery,
    body: Observation,
    response: dataOf(Processed),
    isKeyed: true,
    isTagged: true,
    plan: ({ body, nowMs }) => {
      assertNotFuture(body.timestamp, nowMs, 'timestamp');
      const observations = [observationInput(body)];
      const operation = { kind: 'process', observations, isBatch: false } as const;
      return { kind: 'engine', cycles: 1, operation: { ...operation, isEveryStateWanted: false } };
    },
  }),
  operation({
    name: 'processBatch',
    method: 'POST',
    path: '/instances/:id/process/batch',
    summary: 'Process up to 100 observations in order, as one unit',
    tag,
    scope: 'full',
    query: NoQuery,
    body: Batch,
    response: dataOf(ProcessedBatch),
    isKeyed: true,
    isTagged: true,
    plan: ({ body, nowMs }) => {
      const observations = body.observations.map(observationInput);
      assertAscending(observations, nowMs);
      const isEveryStateWanted = body.include_intermediate ?? false;
      const operation = { kind: 'process', observations, isBatch: true } as const;
      const cycles = observations.length;
      return { kind: 'engine', cycles, operation: { ...operation, isEveryStateWanted } };
    },
  }),
  operation({
    name: 'getSnapshot',
    method: 'GET',
    path: '/instances/:id/snapshot',
    summary: 'Get the current state',
    tag,
    scope: 'read',
    query: NoQuery,
    response: dataOf(CurrentSnapshot),
    isTagged: true,
    plan: () => ({ kind: 'engine', cycles: 0, operation: { kind: 'readSnapshot' } }),
  }),
  operation({
    name: 'getContract',
    method: 'GET',
    path: '/instances/:id/contract',
    summary: 'Get the current execution contract',
    tag,
    scope: 'read',
    query: NoQuery,
    response: dataOf(Contract),
    isTagged: true,
    plan: () => ({ kind: 'engine', cycles: 0, operation: { kind: 'readContract' } }),
  }),
  operation({
    name: 'resetInstance',
    method: 'POST',
    path: '/instances/:id/reset',
    summary: 'Reset to the initial or the last stable state',
    tag,
    scope: 'full',
    query: NoQuery,
    body: ResetInstance,
    response: dataOf(ResetDone),
    isKeyed: true,
    isGuarded: true,
    isTagged: true,
    plan: ({ body }) => ({
      kind: 'engine',
      cycles: 0,
      operation: { kind: 'reset', mode: body.mode },
    }),
  }),
  operation({
    name: 'getHistory',
    method: 'GET',
    path: '/instances/:id/history',
    summary: 'List processed observations, most recent first',
    tag,
    scope: 'read',
    query: HistoryQuery,
    response: pageOf(HistoryRecord),
    plan: ({ query: { limit, offset, generation } }) => ({
      kind: 'engine',
      cycles: 0,
      operation: { kind: 'readHistory', limit, offset, isEveryGeneration: generation === 'all' },
    }),
  }),
  operation({
    name: 'getDrift',
    method: 'GET',
    path: '/instances/:id/drift',
    summary: 'List drift events, most recent first',
    tag,
    scope: 'read',
    query: DriftQuery,
    response: DriftEvents,
    plan: ({ query: { limit, offset, generation }, named }) => {
      const isPaged = named.has('limit') || named.has('offset');
      const page = { limit, offset, isEveryGeneration: generation === 'all' };
      return { kind: 'engine', cycles: 0, operation: { kind: 'readDrift', ...page, isPaged } };
    },
  }),
];
