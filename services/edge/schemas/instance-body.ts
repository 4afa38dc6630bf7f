import { z } from 'zod';
import { textOf, Unit } from '#edge/schemas/json-values';
import { MODE_KEYS } from '#identity/modes';
import { ENERGY_DEFAULT } from '#identity/state';

/** Code points of a description. */
const DESCRIPTION_MAX = 2_000;

/** Code points of a name. Source: interface 2.4. */
const NAME_MAX = 100;

const Name = textOf(1, NAME_MAX);
const Description = textOf(0, DESCRIPTION_MAX);

const strengthFields = Object.fromEntries(MODE_KEYS.map((key) => [key, Unit.optional()]));

/** Mode strengths as a caller gives them: any of the seven keys, the others are 0. */
const ModeStrengths = z.strictObject(strengthFields);

/** The body of `POST /instances`. Source: interface 4.1. */
export const CreateInstance = z
  .strictObject({
    name: Name,
    description: Description.optional().meta({ default: '' }),
    initial_config: z
      .strictObject({
        mode_strengths: ModeStrengths.optional().describe('Missing keys are 0.'),
        energy_level: Unit.optional().meta({ default: ENERGY_DEFAULT }),
      })
      .optional(),
  })
  .meta({
    id: 'CreateInstance',
    examples: [
      {
        name: 'Ada',
        description: 'Writes release notes',
        initial_config: { mode_strengths: { perception: 0.85, order: 0.75 }, energy_level: 0.9 },
      },
    ],
  });

/** The body of `PATCH /instances/{id}`: metadata only. Source: interface 4.1, decision 2. */
export const RenameInstance = z
  .strictObject({ name: Name.optional(), description: Description.optional() })
  .meta({ id: 'RenameInstance', examples: [{ name: 'Ada the second' }] });

/** The body of `POST /instances/{id}/reset`. Source: interface 4.2. */
export const ResetInstance = z
  .strictObject({ mode: z.enum(['initial', 'default']) })
  .meta({ id: 'ResetInstance', examples: [{ mode: 'initial' }] });

/** The seven strengths in the model's order, 0 where the caller gave none. */
export function strengthsOf(config: z.output<typeof CreateInstance>['initial_config']): number[] {
  const given: Record<string, number | undefined> = config?.mode_strengths ?? {};
  return MODE_KEYS.map((key) => given[key] ?? 0);
}
