import type { Json } from '#edge/openapi-schemas';
import { PERSONA_PROFILES } from '#identity/persona-profiles';

/** What the `id` in a path names, for the API document. */
export type PathId = {
  readonly description: string;
  readonly schema: Json;
  /** An id that names nothing. */
  readonly unknown: string;
};

const UNKNOWN_INSTANCE = 'inst_00000000000000ff';

/** Ids of instances. */
export const INSTANCE_ID: PathId = {
  description: 'Id of an instance.',
  schema: {
    type: 'string',
    minLength: UNKNOWN_INSTANCE.length,
    maxLength: UNKNOWN_INSTANCE.length,
    pattern: '^inst_[0-9a-f]{16}$',
  },
  unknown: UNKNOWN_INSTANCE,
};

/** Ids of personas: all there are. */
export const PERSONA_ID: PathId = {
  description: 'Id of a persona.',
  schema: { type: 'string', enum: PERSONA_PROFILES.map(({ id }) => id) },
  unknown: 'persona_unknown',
};
