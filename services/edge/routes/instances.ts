import { type Operation, operation } from '#edge/operation';
import {
  CreatedInstance,
  dataOf,
  Instance,
  ListedInstance,
  pageOf,
  RemovedInstance,
  RenamedInstance,
} from '#edge/schemas/answers';
import { CreateInstance, RenameInstance, strengthsOf } from '#edge/schemas/instance';
import { ListQuery, NoQuery } from '#edge/schemas/query';
import { ENERGY_DEFAULT } from '#identity/state';

const tag = 'Instances' as const;

/** Instance management, in the order of spec 4.1. */
export const instanceOperations: readonly Operation[] = [
  operation({
    name: 'createInstance',
    method: 'POST',
    path: '/instances',
    summary: 'Create an instance',
    tag,
    scope: 'full',
    success: 201,
    query: NoQuery,
    body: CreateInstance,
    response: dataOf(CreatedInstance),
    isKeyed: true,
    isTagged: true,
    plan: ({ body }) => ({
      kind: 'engine',
      cycles: 0,
      operation: {
        kind: 'create',
        name: body.name,
        description: body.description ?? '',
        modeStrengths: strengthsOf(body.initial_config),
        energyLevel: body.initial_config?.energy_level ?? ENERGY_DEFAULT,
      },
    }),
  }),
  operation({
    name: 'listInstances',
    method: 'GET',
    path: '/instances',
    summary: 'List the instances of the account',
    tag,
    scope: 'read',
    query: ListQuery,
    response: pageOf(ListedInstance),
    plan: ({ query }) => ({ kind: 'engine', cycles: 0, operation: { kind: 'list', ...query } }),
  }),
  operation({
    name: 'getInstance',
    method: 'GET',
    path: '/instances/:id',
    summary: 'Get an instance',
    tag,
    scope: 'read',
    query: NoQuery,
    response: dataOf(Instance),
    isTagged: true,
    plan: () => ({ kind: 'engine', cycles: 0, operation: { kind: 'readInstance' } }),
  }),
  operation({
    name: 'updateInstance',
    method: 'PATCH',
    path: '/instances/:id',
    summary: 'Change name or description',
    tag,
    scope: 'full',
    query: NoQuery,
    body: RenameInstance,
    response: dataOf(RenamedInstance),
    isGuarded: true,
    isTagged: true,
    plan: ({ body: { name, description } }) => ({
      kind: 'engine',
      cycles: 0,
      operation: { kind: 'rename', name, description },
    }),
  }),
  operation({
    name: 'deleteInstance',
    method: 'DELETE',
    path: '/instances/:id',
    summary: 'Delete an instance and everything that belongs to it',
    tag,
    scope: 'full',
    query: NoQuery,
    response: dataOf(RemovedInstance),
    isGuarded: true,
    plan: () => ({ kind: 'engine', cycles: 0, operation: { kind: 'remove' } }),
  }),
];
