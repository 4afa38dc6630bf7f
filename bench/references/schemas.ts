import { MODE_TARGETS } from '#identity/modes';

/** JSON schemas of reference (c), with the fields of the service's process route. */

const number = { type: 'number' } as const;
const integer = { type: 'integer' } as const;
const string = { type: 'string' } as const;
const boolean = { type: 'boolean' } as const;
const strings = { type: 'array', items: string } as const;
const nullable = { type: ['string', 'null'] } as const;

/** Schema of an object with exactly these required fields. */
function object<Fields extends Record<string, unknown>>(properties: Fields) {
  return {
    type: 'object',
    properties,
    required: Object.keys(properties),
    additionalProperties: false,
  } as const;
}

/** Path parameters, for ajv. */
export const PROCESS_PARAMS = {
  type: 'object',
  properties: { id: { type: 'string', pattern: '^inst_[0-9a-f]{16}$' } },
  required: ['id'],
} as const;

/** Request body (interface 2.7, with the timestamp of decision 8), for ajv. */
export const OBSERVATION = {
  type: 'object',
  properties: {
    mode_target: {
      type: 'string',
      enum: MODE_TARGETS,
    },
    signal_strength: { type: 'number', minimum: 0, maximum: 1 },
    confidence: { type: 'number', minimum: 0, maximum: 1, default: 1 },
    context: { type: 'object', default: {} },
    timestamp: { type: 'string', format: 'date-time' },
  },
  required: ['mode_target', 'signal_strength'],
  additionalProperties: false,
} as const;

const MODE_STRENGTHS = object({
  perception: number,
  exploration: number,
  order: number,
  assertion: number,
  connection: number,
  identity: number,
  stress_response: number,
});

const SNAPSHOT = object({
  instance_id: string,
  cycle: integer,
  mode_strengths: MODE_STRENGTHS,
  energy_level: number,
  stress_state: string,
  stability_index: number,
});

const CONTRACT = object({
  dominant_modes: strings,
  suppressed_modes: strings,
  allowed_actions: strings,
  forbidden_actions: strings,
  decision_style: object({
    tempo: string,
    risk: string,
    expressiveness: string,
    commitment_threshold: string,
  }),
  energy_level: number,
  stress_state: string,
  recovery_profile: object({
    preferred_path: string,
    support_required: boolean,
    cooldown_required: boolean,
  }),
});

const DRIFT = object({
  level: string,
  deviation: object({
    description: string,
    reason: string,
    distance: number,
    t2: number,
    p_value: number,
    breach: number,
    run: integer,
    sustained: object({ statistic: number, limit: number, mode: nullable, direction: nullable }),
    modes: { type: 'array', items: object({ mode: string, z: number, contribution: number }) },
    nearest_persona: nullable,
    composite: nullable,
  }),
});

/** Answer body (interface 2.5 to 2.7, model 3.6), for fast-json-stringify. */
export const PROCESS_ANSWER = object({
  data: object({ snapshot: SNAPSHOT, contract: CONTRACT, drift: DRIFT }),
});
