import type { Schema } from '#clients/models/open-schema';

const model = (name: string): Schema => ({ $ref: `#/$defs/${name}` });
const ordinal: Schema = { type: 'integer', description: 'Ordinal of an observation.' };

function data(
  description: string,
  fields: Readonly<Record<string, Schema>>,
  optional = [''],
): Schema {
  const required = Object.keys(fields).filter((name) => !optional.includes(name));
  return { description, type: 'object', properties: fields, required, additionalProperties: true };
}

/** Schema for the `data` field, by stream event name (interface 6). */
export const EVENT_DATA: Readonly<
  Record<string, { readonly name: string; readonly schema: Schema }>
> = {
  state: {
    name: 'StateEventData',
    schema: data(
      'The state. Sent first, and after the newest cycle, rename or reset.',
      {
        snapshot: model('Snapshot'),
        contract: model('Contract'),
        drift: model('Drift'),
        set_point: model('ModeStrengths'),
        last_stable: model('ModeStrengths'),
      },
      ['set_point', 'last_stable'],
    ),
  },
  cycle: {
    name: 'CycleEventData',
    schema: data('A processed observation, once durable. The `id` of the event is its ordinal.', {
      observation: model('HistoryRecord'),
      drift: {
        anyOf: [model('DriftEvent'), { type: 'null' }],
        description: 'The drift event of the observation; null at level D0.',
      },
    }),
  },
  reset: {
    name: 'ResetEventData',
    schema: data('A reset. The next cycles belong to a new generation.', {
      generation: { type: 'integer', description: 'The new generation. At least 1.' },
    }),
  },
  gap: {
    name: 'GapEventData',
    schema: data('Requested cycles that are no longer stored.', {
      from: ordinal,
      to: ordinal,
    }),
  },
  deleted: {
    name: 'DeletedEventData',
    schema: data('The instance was deleted. The stream ends.', {}),
  },
};
