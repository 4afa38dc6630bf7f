import { z } from 'zod';
import { EVENT_ID, REQUEST_ID } from '#edge/http';
import { FAULTS } from '#errors/error-codes';
import { type FaultReason, REASONS } from '#errors/error-reasons';
import { TAG_KEY_MAX, TAG_VALUE_MAX, TAGS_MAX } from '#grpc/call-bounds';
import { EXACT_CYCLES_MAX, POINTS_MAX, type TagFields } from '#grpc/engine-messages';
import {
  FILTER_TAGS_BYTES_MAX,
  FILTER_TAGS_MAX,
  INSTANCES_CURSOR_LENGTH_MAX,
  type InstanceFilter,
} from '#grpc/list-cursor';
import { DRIFT_LEVELS } from '#identity/drift';
import { MODE_KEYS } from '#identity/modes';
import { ENERGY_DEFAULT, STRESS_STATES } from '#identity/state';
import { LEADING_MODES, TRANSITIONS, type TransitionType } from '#identity/transitions';

/** Maximum description length, in code points. */
const DESCRIPTION_MAX = 2_000;

/** Maximum name length, in code points. Source: interface 2.4. */
const NAME_MAX = 100;

/** A number in [0, 1]: signal, confidence, energy, mode strengths. Source: interface 8.4. */
export const Unit = z.number().min(0).max(1);

/** Text from `min` UTF-16 units to `max` code points, without lone surrogates. */
export const textOf = (min: number, max: number) =>
  z
    .string()
    .check((check) => {
      const refuse = (reason: FaultReason, message: string) =>
        check.issues.push({ code: 'custom', input: check.value, params: { reason }, message });
      if (!check.value.isWellFormed()) refuse('invalid_text', 'has a lone surrogate');
      else if (check.value.length < min) refuse('too_short', `is shorter than ${min} characters`);
      else if (isLonger(check.value, max)) refuse('too_long', `is longer than ${max} characters`);
    })
    .meta({ minLength: min, maxLength: max });

/** Whether a text has more than `max` code points. Counts code points only if necessary. */
function isLonger(text: string, max: number): boolean {
  return text.length > max && (text.length > 2 * max || [...text].length > max);
}

const Name = textOf(1, NAME_MAX);
const Description = textOf(0, DESCRIPTION_MAX);

/** Text in a tag: `textOf` without NUL. */
const tagTextOf = (min: number, max: number) =>
  textOf(min, max)
    .refine((text) => !text.includes('\0'), {
      params: { reason: 'invalid_text' satisfies FaultReason },
      error: 'has a NUL',
    })
    .meta({ pattern: '^[^\\u0000]*$' });

const TAG_RULES =
  `At most ${TAGS_MAX} tags. A key has 1 to ${TAG_KEY_MAX} characters, ` +
  `a value up to ${TAG_VALUE_MAX}.`;

/** Tags of an instance. Keys are compared exactly. Source: interface 2.4. */
export const Tags = z
  .record(
    tagTextOf(1, TAG_KEY_MAX).meta({ not: { const: '__proto__' } }),
    tagTextOf(0, TAG_VALUE_MAX),
  )
  .refine((tags) => Object.keys(tags).length <= TAGS_MAX, {
    params: { reason: 'too_long' satisfies FaultReason },
    error: `has more than ${TAGS_MAX} tags`,
  })
  .meta({ maxProperties: TAGS_MAX, description: TAG_RULES });

/** Tags of a body as fields of a command. */
export function tagFieldsOf(tags: z.output<typeof Tags> | undefined): TagFields {
  return tags === undefined ? {} : { tagsJson: JSON.stringify(tags) };
}

const strengthFields = Object.fromEntries(MODE_KEYS.map((key) => [key, Unit.optional()]));

/** Mode strengths in a request: any keys among the seven. Missing keys are 0. */
const ModeStrengths = z.strictObject(strengthFields);

/** Body for `POST /instances`. Source: interface 4.1. */
export const CreateInstance = z
  .strictObject({
    name: Name,
    description: Description.optional().meta({ default: '' }),
    tags: Tags.optional().meta({ default: {} }),
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
        tags: { team: 'docs' },
        initial_config: { mode_strengths: { perception: 0.85, order: 0.75 }, energy_level: 0.9 },
      },
    ],
  });

/** Body for `PATCH /instances/{id}`: only metadata. Source: interface 4.1, decision 2. */
export const RenameInstance = z
  .strictObject({
    name: Name.optional(),
    description: Description.optional(),
    tags: Tags.optional().describe(`Replaces all tags. ${TAG_RULES}`),
  })
  .meta({ id: 'RenameInstance', examples: [{ name: 'Ada the second' }] });

/** Body for `POST /instances/{id}/reset`. Source: interface 4.2. */
export const ResetInstance = z
  .strictObject({ mode: z.enum(['initial', 'default']) })
  .meta({ id: 'ResetInstance', examples: [{ mode: 'initial' }] });

/** The seven strengths in model order. A strength that the caller left out is 0. */
export function strengthsOf(config: z.output<typeof CreateInstance>['initial_config']): number[] {
  const given: Record<string, number | undefined> = config?.mode_strengths ?? {};
  return MODE_KEYS.map((key) => given[key] ?? 0);
}

/** An integer in plain decimal digits: no sign, no exponent, no `0x`. Source: decision 2. */
const digits = (min: number, max: number) =>
  z
    .string()
    .regex(/^\d{1,16}$/, 'must be an integer')
    .transform(Number)
    .refine((value) => value >= min && value <= max, `must be from ${min} to ${max}`);

/** An optional integer in plain decimal digits, with a default. */
export const integer = (min: number, max: number, fallback: number) =>
  digits(min, max)
    .optional()
    .transform((value) => value ?? fallback)
    .meta({ type: 'integer', minimum: min, maximum: max, default: fallback });

/** Maximum search text length, in code points. Source: decision 254. */
const SEARCH_LENGTH_MAX = 64;

const Offset = integer(0, Number.MAX_SAFE_INTEGER, 0);

/** Cursor for the next list page: `next_cursor` from the previous page. Source: decision 281. */
const Cursor = z
  .string()
  .min(1)
  .max(1_024)
  .optional()
  .meta({
    description:
      '`next_cursor` of the previous page. Contains sort, order, search and generation: omit ' +
      'these, or send the same values. Excludes `offset`.',
  });

/** One or more of some names, separated by commas. Becomes bits at the positions of the names. */
const namesOf = (names: readonly string[], examples: readonly string[]) =>
  z
    .string()
    .refine(
      (text) => text.split(',').every((name) => names.includes(name)),
      `must be one or more of ${names.join(', ')}, separated by commas`,
    )
    .transform((text) =>
      text.split(',').reduce((bits, name) => bits | (1 << names.indexOf(name)), 0),
    )
    .optional()
    .meta({ type: 'string', examples: [...examples] });

/** Wanted tags, gathered from the parameters that begin with `tag.`. */
const WantedTags = z
  .record(tagTextOf(1, TAG_KEY_MAX), tagTextOf(0, TAG_VALUE_MAX))
  .refine((tags) => Object.keys(tags).length <= FILTER_TAGS_MAX, {
    error: `at most ${FILTER_TAGS_MAX} tags`,
  })
  .refine((tags) => Buffer.byteLength(JSON.stringify(tags)) <= FILTER_TAGS_BYTES_MAX, {
    error: `the tags have more than ${FILTER_TAGS_BYTES_MAX} bytes together`,
  })
  .optional();

/** Query for `GET /instances`. Source: interface 4.1. */
export const ListQuery = z.strictObject({
  limit: integer(1, 100, 20),
  offset: Offset,
  cursor: z
    .string()
    .min(1)
    .max(INSTANCES_CURSOR_LENGTH_MAX)
    .optional()
    .meta({
      description:
        '`next_cursor` of the previous page. Contains sort, order, search and filters: omit these, ' +
        'or send the same values. Excludes `offset`.',
    }),
  sort: z.enum(['created_at', 'name', 'changed_at']).default('created_at'),
  order: z.enum(['asc', 'desc']).default('desc'),
  search: textOf(1, SEARCH_LENGTH_MAX).optional(),
  stress: namesOf(STRESS_STATES, ['HIGH,OVER']),
  drift: namesOf(DRIFT_LEVELS, ['D2,D3']),
  dominant_mode: namesOf(LEADING_MODES, ['Order']),
  tag: WantedTags,
});

/** Filter of a list; undefined if the query has none. */
export function filterOf({
  stress,
  drift,
  dominant_mode: modes,
  tag = {},
}: z.output<typeof ListQuery>): InstanceFilter | undefined {
  const tags = Object.entries(tag).sort(([a], [b]) => (a < b ? -1 : 1));
  const bits = { stress, drift, modes };
  const wanted = Object.entries(bits).filter(([, value]) => value !== undefined);
  if (wanted.length === 0 && tags.length === 0) return undefined;
  return { ...Object.fromEntries(wanted), tags };
}

/** Query for `GET /instances/{id}/contract`. */
export const ContractQuery = z.strictObject({
  prompt: z
    .string()
    .refine((text) => text === 'true' || text === 'false', 'must be true or false')
    .optional()
    .transform((text) => text === 'true')
    .meta({ type: 'boolean', default: false }),
});

const Generation = z.enum(['current', 'all']).default('current');

/** Query for `GET /instances/{id}/history`. Source: interface 4.2. */
export const HistoryQuery = z.strictObject({
  limit: integer(1, 1_000, 100),
  offset: Offset,
  cursor: Cursor,
  generation: Generation,
});

/**
 * Query for `GET /instances/{id}/drift`. Without `limit` and `offset`, answers the newest 1,000
 * events. Source: decision 162.
 */
export const DriftQuery = z.strictObject({
  limit: integer(1, 1_000, 1_000),
  offset: Offset,
  cursor: Cursor,
  generation: Generation,
});

/** Query for `GET /instances/{id}/events`: the last received event id. Source: decision 244. */
export const EventsQuery = z.strictObject({
  after: z
    .string()
    .regex(EVENT_ID, 'must be an integer')
    .transform(Number)
    .refine(Number.isSafeInteger, `must be from 0 to ${Number.MAX_SAFE_INTEGER}`)
    .optional()
    .meta({ type: 'integer', minimum: 0, maximum: Number.MAX_SAFE_INTEGER }),
});

/** Maximum time that a page of events waits for an event, in seconds. */
const WAIT_S_MAX = 8;

const isType = (name: string): name is TransitionType =>
  (TRANSITIONS as readonly string[]).includes(name);

const Types = z
  .string()
  .refine((text) => text.split(',').every(isType), `must be a list of ${TRANSITIONS.join(', ')}`)
  .transform((text) => text.split(',').filter(isType))
  .optional()
  .meta({ type: 'string', examples: ['stress_changed,drift_changed'] });

/** Query for `GET /events`. */
export const FeedQuery = z.strictObject({
  cursor: z.string().min(1).max(1_024).optional(),
  start: z.enum(['oldest', 'newest']).optional(),
  order: z
    .enum(['asc', 'desc'])
    .default('asc')
    .describe('`desc`: the events before `cursor`, or the newest events, newest first.'),
  limit: integer(1, 1_000, 100),
  types: Types,
  wait: integer(0, WAIT_S_MAX, 0),
});

/** One or more cycles in plain decimal digits, separated by commas. */
const CYCLES = /^\d{1,16}(?:,\d{1,16}){0,9}$/;

/** Query for `GET /instances/{id}/states`. Source: interface 4.2. */
export const StatesQuery = z.strictObject({
  cycles: z
    .string()
    .regex(CYCLES, `must be 1 to ${EXACT_CYCLES_MAX} cycles, separated by commas`)
    .transform((text) => text.split(',').map(Number))
    .refine((cycles) => cycles.every(Number.isSafeInteger), 'must be integers')
    .optional()
    .meta({ type: 'string', pattern: CYCLES.source, examples: ['12,40'] }),
  points: integer(1, POINTS_MAX, 100),
  generation: digits(1, Number.MAX_SAFE_INTEGER)
    .optional()
    .meta({ type: 'integer', minimum: 1, maximum: Number.MAX_SAFE_INTEGER }),
});

/** Body for `POST /instances/{id}/fork`. Source: interface 4.2. */
export const ForkInstance = z
  .strictObject({
    name: Name,
    description: Description.optional(),
    tags: Tags.optional().describe(`${TAG_RULES} Default: the tags of this instance.`),
    cycle: z.int().min(0).max(Number.MAX_SAFE_INTEGER),
    generation: z.int().min(1).max(Number.MAX_SAFE_INTEGER).optional(),
  })
  .meta({ id: 'ForkInstance', examples: [{ name: 'Ada, another future', cycle: 12 }] });

/** Query for `GET /personas`. */
export const PersonasQuery = z.strictObject({ version: z.enum(['v1']).default('v1') });

/** Query for endpoints without parameters. */
export const NoQuery = z.strictObject({});

const codes = Object.keys(FAULTS) as (keyof typeof FAULTS)[];
const reasons = Object.keys(REASONS) as (keyof typeof REASONS)[];

/** Envelope for all refusals. Source: interface 7, decision 2. */
export const ErrorBody = z
  .strictObject({
    error: z.enum(codes),
    message: z.string(),
    retry_after: z.int().min(1).optional().describe('Seconds; on 429.'),
    details: z
      .strictObject({
        field: z.string().optional(),
        reason: z.enum(reasons).optional(),
        alias: z.literal('rate_limit_exceeded').optional(),
        mode: z.enum(MODE_KEYS).optional(),
        first_cycle: z.int().min(0).optional(),
        request_id: z.string().regex(REQUEST_ID).optional(),
      })
      .optional(),
  })
  .meta({ id: 'Error' });
