import { endpoint, INSTANCE_ID, instancesPage } from '#edge/endpoints/endpoint';
import { bitsOf, USUAL_TYPES } from '#edge/endpoints/events';
import {
  CreatedInstance,
  dataOf,
  FleetCounts,
  Instance,
  InstancesPage,
  RemovedInstance,
  RenamedInstance,
  ResetDone,
} from '#edge/schemas/answers';
import {
  CreateInstance,
  ListQuery,
  RenameInstance,
  ResetInstance,
  strengthsOf,
  tagFieldsOf,
} from '#edge/schemas/instance';
import { ENERGY_DEFAULT } from '#identity/state';

/** Endpoint `POST /instances`. Source: interface 4.1. */
export const createInstance = endpoint({
  name: 'createInstance',
  method: 'POST',
  path: '/instances',
  tag: 'Instances',
  summary: 'Create an instance',
  description:
    'Strengths that `initial_config` omits are 0; the default energy is 0.8. `Location` has the ' +
    'path of the new instance. With an `Idempotency-Key`, the id is derived from the key. Using ' +
    'the key again within 24 hours after the deletion of its instance is 409 `deleted`.',
  scope: 'full',
  success: 201,
  body: CreateInstance,
  response: dataOf(CreatedInstance),
  refusals: [
    'missing_field',
    'out_of_range',
    'too_short',
    'too_long',
    'instance_limit',
    'deleted',
    'already_exists',
  ],
  isKeyed: true,
  isTagged: true,
  auditedAs: 'instance.create',
  handler: {
    kind: 'engine',
    command: ({ body }) => ({
      kind: 'create',
      name: body.name,
      description: body.description ?? '',
      ...tagFieldsOf(body.tags),
      modeStrengths: strengthsOf(body.initial_config),
      energyLevel: body.initial_config?.energy_level ?? ENERGY_DEFAULT,
    }),
  },
});

/** Endpoint `GET /instances/{id}`. Source: interface 4.1. */
export const getInstance = endpoint({
  name: 'getInstance',
  method: 'GET',
  path: '/instances/:id',
  pathId: INSTANCE_ID,
  tag: 'Instances',
  summary: 'Get an instance',
  description: 'A malformed id is answered exactly like an unknown id.',
  scope: 'read',
  response: dataOf(Instance),
  examples: [{ summary: 'an instance' }],
  isTagged: true,
  handler: { kind: 'engine', command: () => ({ kind: 'readInstance' }) },
});

/** Endpoint `GET /instances`. Source: interface 4.1. */
export const listInstances = endpoint({
  name: 'listInstances',
  method: 'GET',
  path: '/instances',
  tag: 'Instances',
  summary: 'List the instances of the account',
  description:
    'Ordered by `created_at` (ties by id) or by `name` (by code point; ties by `created_at`, ' +
    'then id). `search` selects instances whose name contains the text, in any case, or whose id ' +
    'contains the text, from six digits on; `total` counts the selected instances. With `cursor`, each instance that ' +
    'exists throughout appears exactly once, even if instances are created, renamed or deleted ' +
    'meanwhile. A parameter out of range is refused with 400, never clamped.\n\n' +
    '`stress`, `drift`, `dominant_mode` and `tag.…` select instances by their present values, and ' +
    '`sort=changed_at` orders by the newest event. The answer then has `as_of`: it contains every ' +
    'event up to `events_cursor`. A first call, and a call after the failure of a server, can get ' +
    '503 `index_rebuilding` for some seconds.',
  scope: 'read',
  query: ListQuery,
  response: InstancesPage,
  refusals: ['index_rebuilding', 'too_many_tags'],
  examples: [
    { summary: 'the first page' },
    { summary: 'instances whose name contains a text', query: '?search=ada' },
    {
      summary: 'calm instances of a team, by their newest event',
      query: '?stress=LOW&tag.team=docs&sort=changed_at&limit=2',
    },
  ],
  handler: {
    kind: 'engine',
    command: ({ query, named }) => ({ kind: 'list', ...instancesPage(query, { named }) }),
  },
});

/** Maximum number of events with the counts of a fleet. */
const FLEET_EVENTS = 20;

/** Endpoint `GET /fleet`. Source: interface 4.1. */
export const getFleet = endpoint({
  name: 'getFleet',
  method: 'GET',
  path: '/fleet',
  tag: 'Instances',
  summary: 'Count the instances of the account',
  description:
    'Counts by stress state, drift level, dominant mode and tag, and the newest events. The sum of ' +
    'each group of counts and `unknown` is `total`. `GET /events` continues from ' +
    '`as_of.events_cursor`. 503 `index_rebuilding` as for filtered lists.',
  scope: 'read',
  response: dataOf(FleetCounts),
  refusals: ['index_rebuilding', 'too_many_tags'],
  examples: [{ summary: 'an account with a few instances' }],
  handler: {
    kind: 'engine',
    command: () => ({
      kind: 'readFleet',
      types: bitsOf(USUAL_TYPES),
      eventsMax: FLEET_EVENTS,
    }),
  },
});

/** Endpoint `PATCH /instances/{id}`. Source: interface 4.1. */
export const updateInstance = endpoint({
  name: 'updateInstance',
  method: 'PATCH',
  path: '/instances/:id',
  pathId: INSTANCE_ID,
  tag: 'Instances',
  summary: 'Change name, description or tags',
  description:
    'Only `name`, `description` and `tags` can be changed; any other field is refused with 422. ' +
    '`tags` replaces all tags.',
  scope: 'full',
  body: RenameInstance,
  response: dataOf(RenamedInstance),
  refusals: ['too_short', 'too_long'],
  isGuarded: true,
  isTagged: true,
  auditedAs: 'instance.update',
  handler: {
    kind: 'engine',
    command: ({ body: { name, description, tags } }) => ({
      kind: 'rename',
      name,
      description,
      ...tagFieldsOf(tags),
    }),
  },
});

/** Endpoint `DELETE /instances/{id}`. Source: interface 4.1. */
export const deleteInstance = endpoint({
  name: 'deleteInstance',
  method: 'DELETE',
  path: '/instances/:id',
  pathId: INSTANCE_ID,
  tag: 'Instances',
  summary: 'Delete an instance and its records',
  description:
    'Deletes the instance, its history and its drift events. A deletion cannot be undone. With ' +
    '`Prefer: return=minimal` the answer is 204 without a body.',
  scope: 'full',
  response: dataOf(RemovedInstance),
  isGuarded: true,
  auditedAs: 'instance.delete',
  handler: { kind: 'engine', command: () => ({ kind: 'remove' }) },
});

/** Endpoint `POST /instances/{id}/reset`. Source: interface 4.2. */
export const resetInstance = endpoint({
  name: 'resetInstance',
  method: 'POST',
  path: '/instances/:id/reset',
  pathId: INSTANCE_ID,
  tag: 'Engine',
  summary: 'Reset to the initial or the last stable state',
  description:
    '`initial` restores the state in which the instance was created. `default` restores its last ' +
    'stable checkpoint, or the initial state if there is no checkpoint. In both cases the cycle ' +
    'is 0 and a new generation begins. Records of earlier generations stay readable with ' +
    '`generation=all`.',
  scope: 'full',
  body: ResetInstance,
  response: dataOf(ResetDone),
  refusals: ['missing_field', 'unknown_value'],
  isKeyed: true,
  isGuarded: true,
  isTagged: true,
  auditedAs: 'instance.reset',
  handler: { kind: 'engine', command: ({ body }) => ({ kind: 'reset', mode: body.mode }) },
});
