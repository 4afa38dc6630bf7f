import { z } from 'zod';
import {
  ACTIONS,
  COMMITMENTS,
  EXPRESSIVENESSES,
  RECOVERY_PATHS,
  RISKS,
  TEMPOS,
} from '#identity/contract';
import { DRIFT_LEVELS } from '#identity/drift';
import { INVENTORY } from '#identity/inventory';
import { MODE_KEYS, MODE_NAMES, MODE_TARGETS } from '#identity/modes';
import { PERSONA_PROFILES } from '#identity/persona-profiles';
import { COMPOSITES } from '#identity/ranking';
import { STRESS_STATES } from '#identity/state';
import { LEADING_MODES, TRANSITIONS } from '#identity/transitions';

/*
 * Schemas for all answers, used by the API document and by tests. Strict: an answer must not
 * contain a field that is not listed here. Never run on live answers.
 */

/** Object schema with a name in the API document. */
export const named = <Shape extends z.ZodRawShape>(id: string, shape: Shape) =>
  z.strictObject(shape).meta({ id });

const Unit = z.number().min(0).max(1);
const QuestionId = z.enum(INVENTORY.map(({ id }) => id));
/** A non-negative integer. */
export const Count = z.int().min(0);
/** A time in an answer: UTC with milliseconds. */
export const Time = z.string().meta({
  format: 'date-time',
  pattern: '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z$',
  examples: ['2026-01-15T12:00:00.000Z'],
});
const InstanceId = z.string().regex(/^inst_[0-9a-f]{16}$/);
const Strengths = named('ModeStrengths', Object.fromEntries(MODE_KEYS.map((key) => [key, Unit])));

/** Envelope for a single object (interface 2.1). */
export const dataOf = <Schema extends z.ZodType>(schema: Schema) =>
  z.strictObject({ data: schema });

/** Envelope for a list with several pages (interface 2.1). */
export const pageOf = <Schema extends z.ZodType>(schema: Schema) =>
  z.strictObject({ data: z.array(schema), pagination: Pagination });

/** Envelope for a list that is always complete. */
export const listOf = <Schema extends z.ZodType>(schema: Schema) =>
  z.strictObject({ data: z.array(schema), pagination: z.strictObject({ total: Count }) });

/** Pagination of a list with several pages. Source: interface 2.1. */
const Pagination = named('Pagination', {
  limit: z.int().min(1),
  offset: Count,
  total: Count,
  has_more: z.boolean(),
  next_cursor: z
    .string()
    .nullable()
    .describe('The `cursor` of the next page. `null`: no next page.'),
});

const instance = {
  id: InstanceId,
  name: z.string(),
  description: z.string(),
  tags: z
    .record(z.string(), z.string())
    .optional()
    .describe('Tags of the instance. Absent in release 1.0.')
    .meta({ examples: [{ team: 'docs' }] }),
  created_at: Time,
};
const vitals = { cycle_count: Count, energy_level: Unit };

/** Instance in the answer to its creation. Source: interface 2.4. */
export const CreatedInstance = z.strictObject({ ...instance, updated_at: Time });

/** Instance in the answer to a fork. Source: interface 4.2. */
export const ForkedInstance = z.strictObject({
  ...CreatedInstance.shape,
  forked_from: named('ForkOrigin', {
    instance_id: InstanceId,
    generation: z.int().min(1),
    cycle: Count,
  }),
});

/** Instance in a list. Source: interface 2.4. */
const ListedInstance = z.strictObject({
  ...instance,
  ...vitals,
  stress_state: z
    .enum(STRESS_STATES)
    .optional()
    .describe('With a filter: at the time of `as_of`. Absent if unknown.'),
  drift_level: z.enum(DRIFT_LEVELS).optional().describe('As `stress_state`.'),
  dominant_mode: z
    .enum(LEADING_MODES)
    .optional()
    .describe('First of the dominant modes. `None`: all modes are weak.'),
  changed_at: Time.optional().describe(
    'Time of the newest event of the instance, except `contract_changed` and `mode_changed`.',
  ),
});

/** Time up to which an answer from an index is complete. */
const AsOf = named('AsOf', {
  time: Time,
  events_cursor: z.string().describe('`cursor` of `GET /events` at this time.'),
});

/** Page of instances. Source: interface 4.1. */
export const InstancesPage = z.strictObject({
  data: z.array(ListedInstance),
  pagination: Pagination,
  as_of: AsOf.optional().describe('Only with a filter or `sort=changed_at`.'),
});

const countsOf = (names: readonly string[]) =>
  z.strictObject(Object.fromEntries(names.map((name) => [name, Count])));

/** Instance with all its fields. Source: interface 2.4. */
export const Instance = named('Instance', {
  ...instance,
  updated_at: Time,
  ...vitals,
  stress_state: z.enum(STRESS_STATES),
  stability_index: Unit,
  model_version: z
    .string()
    .optional()
    .describe('Version of the model that advances the instance. Absent in release 1.0.')
    .meta({ examples: ['1.1'] }),
});

/** Instance in the answer to a change of name, description or tags. Source: interface 2.4. */
export const RenamedInstance = CreatedInstance.omit({ created_at: true });

/** Answer to a deletion. */
export const RemovedInstance = z.strictObject({ id: InstanceId, deleted: z.literal(true) });

const snapshot = {
  instance_id: InstanceId,
  cycle: Count,
  mode_strengths: Strengths,
  energy_level: Unit,
  stress_state: z.enum(STRESS_STATES),
  stability_index: Unit,
};

const Snapshot = named('Snapshot', snapshot);

/** Answer to `GET …/snapshot`. Source: interface 2.5, "only in the get-snapshot response". */
export const CurrentSnapshot = named('CurrentSnapshot', {
  ...snapshot,
  cycle_count: Count,
  created_at: Time,
  updated_at: Time,
  set_point: Strengths.optional().describe(
    'Long-term average of each mode, the reference of drift. Absent in release 1.0.',
  ),
});

const DecisionStyle = named('DecisionStyle', {
  tempo: z.enum(TEMPOS),
  risk: z.enum(RISKS),
  expressiveness: z.enum(EXPRESSIVENESSES),
  commitment_threshold: z.enum(COMMITMENTS),
});

/** Execution contract of an instance. Source: interface 2.6. */
export const Contract = named('Contract', {
  dominant_modes: z.array(z.enum(MODE_NAMES)),
  suppressed_modes: z.array(z.enum(MODE_NAMES)),
  allowed_actions: z.array(z.enum(ACTIONS)),
  forbidden_actions: z.array(z.enum(ACTIONS)),
  decision_style: DecisionStyle,
  energy_level: Unit,
  stress_state: z.enum(STRESS_STATES),
  recovery_profile: z.strictObject({
    preferred_path: z.enum(RECOVERY_PATHS),
    support_required: z.boolean(),
    cooldown_required: z.boolean(),
  }),
  prompt: z
    .string()
    .optional()
    .describe(
      'The contract as text for a language model. Only in `GET …/contract` with `prompt=true`.',
    ),
});

const PersonaId = z.enum(PERSONA_PROFILES.map(({ id }) => id));
const CompositeKey = z.enum(COMPOSITES.map(({ key }) => key));

/** Evidence for a drift level. Source: model 3.6. */
const Deviation = named('Deviation', {
  description: z.string(),
  reason: z.enum(['within_band', 'situational_departure', 'sustained_shift', 'identity_breach']),
  distance: z.number().min(0),
  t2: z.number().min(0),
  p_value: Unit,
  breach: z.number().min(0),
  run: Count,
  sustained: z.strictObject({
    statistic: z.number().min(0),
    limit: z.number(),
    mode: z.enum(MODE_KEYS).nullable(),
    direction: z.enum(['up', 'down']).nullable(),
  }),
  modes: z
    .array(z.strictObject({ mode: z.enum(MODE_KEYS), z: z.number(), contribution: z.number() }))
    .length(MODE_KEYS.length),
  nearest_persona: PersonaId.nullable(),
  composite: CompositeKey.nullable(),
});

const Drift = named('Drift', { level: z.enum(DRIFT_LEVELS), deviation: Deviation });

/** Answer to an observation. Source: interface 4.2. */
export const Processed = named('Processed', {
  snapshot: Snapshot,
  contract: Contract,
  drift: Drift,
});

/** Past states of an instance. Source: interface 4.2. */
export const PastStates = named('PastStates', {
  instance_id: InstanceId,
  generation: z.int().min(1),
  states: z.array(
    named('PastState', {
      cycle: Count,
      timestamp: Time.nullable().describe('Time of the last observation. `null` at cycle 0.'),
      model_version: z.string().meta({ examples: ['1.1'] }),
      ...Processed.shape,
    }),
  ),
});

const processed = {
  processed_count: Count.describe('Number of observations that this call applied.'),
  results: z
    .array(
      named('ItemResult', {
        index: Count.describe('Index of the item in `observations`.'),
        status: z.enum(['applied', 'replayed', 'throttled']),
      }),
    )
    .optional()
    .describe('One entry per item, in input order. Only if an item has an `idempotency_key`.'),
};

/** Answer to a batch, with the last state or with every state. Source: interface 4.2. */
export const ProcessedBatch = z.union([
  z.strictObject({ ...Processed.shape, ...processed }),
  z.strictObject({ states: z.array(Processed), ...processed }),
]);

/** Status of a result in a fleet call. */
export const FLEET_STATUSES = [
  'applied',
  'replayed',
  'throttled',
  'refused',
  'unknown',
  'not_attempted',
] as const;

/** Status of a result in a fleet call. */
export type FleetStatus = (typeof FLEET_STATUSES)[number];

/** Result of one observation in a fleet call. Source: interface 4.2. */
const FleetResult = named('FleetResult', {
  index: Count.describe('Index of the observation in `observations`.'),
  instance_id: z.string().optional(),
  idempotency_key: z.string().optional(),
  status: z.enum(FLEET_STATUSES),
  cycle: Count.optional().describe('Cycle of the instance. Only with a state.'),
  stress_state: z.enum(STRESS_STATES).optional(),
  drift_level: z.enum(DRIFT_LEVELS).optional(),
  allowed_actions: z.array(z.enum(ACTIONS)).optional(),
  forbidden_actions: z.array(z.enum(ACTIONS)).optional(),
  snapshot: Snapshot.optional().describe('With `include_state`, like contract and drift.'),
  contract: Contract.optional(),
  drift: Drift.optional(),
  retry: z
    .enum(['never', 'after', 'same_key'])
    .optional()
    .describe(
      'Absent if the observation was applied. `never`: the same observation is refused again. ' +
        '`after`: nothing changed; send the observation again, after a throttled result with a ' +
        'later time. `same_key`: the observation may have been applied; send the observation again ' +
        'with the same key. An observation without a key may then count twice.',
    ),
  retry_after: Count.optional().describe('Wait before a retry, in seconds.'),
  http_status: z.int().optional().describe('Status that a single call would get.'),
  refusal: z
    .strictObject({
      error: z.string(),
      message: z.string(),
      retry_after: Count.optional(),
      details: z.record(z.string(), z.unknown()).optional(),
    })
    .optional()
    .describe('Body that a single call would get.'),
});

/** Answer to a fleet call. Source: interface 4.2. */
export const ProcessedFleet = z.strictObject({
  summary: z
    .strictObject(Object.fromEntries(FLEET_STATUSES.map((status) => [status, Count])))
    .describe('Number of observations by status.'),
  results: z.array(FleetResult).describe('One entry per observation, in input order.'),
});

/** Answer to a simulation: the state after each observation. */
export const Simulated = z.strictObject({ states: z.array(Processed), processed_count: Count });

/** Answer to a reset. Source: interface 4.2. */
export const ResetDone = z.strictObject({
  id: InstanceId,
  reset_to: z.enum(['initial', 'default']),
  cycle: Count,
  energy_level: Unit,
  stress_state: z.enum(STRESS_STATES),
});

const generation = { generation: z.int().min(1).optional().describe('If `generation=all`.') };

/** Processed observation in the history. Source: interface 2.7. */
export const HistoryRecord = named('HistoryRecord', {
  cycle: z.int().min(1),
  mode_target: z.enum(MODE_TARGETS),
  signal_strength: Unit,
  confidence: Unit,
  context: z.record(z.string(), z.unknown()),
  timestamp: Time,
  ...generation,
});

/** Cycle with a drift level other than `D0`. Source: interface 2.7. */
const DriftEvent = named('DriftEvent', {
  cycle: z.int().min(1),
  drift_level: z.enum(['D1', 'D2', 'D3']),
  deviation: Deviation,
  affected_modes: z.array(z.enum(MODE_KEYS)).min(1),
  rolled_back: z.boolean(),
  timestamp: Time,
  ...generation,
});

/** Drift events. `pagination` has all fields only if the request asks for a page (decision 162). */
export const DriftEvents = z.strictObject({
  data: z.array(DriftEvent),
  pagination: z.union([Pagination, z.strictObject({ total: Count })]),
});

/** Server-sent events as text; the endpoint's description has their format (decision 244). */
export const EventText = z.string();

const ListChange = named('ListChange', {
  added: z.array(z.enum(ACTIONS)),
  removed: z.array(z.enum(ACTIONS)),
});

/** Event of an account: a transition of an instance. */
export const AccountEvent = named('AccountEvent', {
  id: z.string().describe('Unique and permanent. A repeated event has the same id.'),
  type: z.enum(TRANSITIONS),
  instance_id: InstanceId,
  occurred_at: Time,
  cycle: Count.describe('Cycle of the instance after the change.'),
  stress_state: z.enum(STRESS_STATES).optional().describe('After the change. Absent: deleted.'),
  drift_level: z.enum(DRIFT_LEVELS).optional().describe('After the change. Absent: deleted.'),
  from: z
    .string()
    .optional()
    .describe('Value before a change of stress state, drift level or leading mode.'),
  to: z
    .string()
    .optional()
    .describe('Value after a change of stress state, drift level or leading mode.'),
  allowed_actions: ListChange.optional().describe('Only for `contract_changed`.'),
  forbidden_actions: ListChange.optional().describe('Only for `contract_changed`.'),
});

/** Answer to `GET /fleet`. Source: interface 4.1. */
export const FleetCounts = named('FleetCounts', {
  total: Count.describe('Number of instances.'),
  stress_states: countsOf(STRESS_STATES),
  drift_levels: countsOf(DRIFT_LEVELS),
  dominant_modes: countsOf(LEADING_MODES),
  unknown: Count.describe(
    'Instances that are in `total` only: created within the last seconds, or with a damaged state.',
  ),
  tags: z
    .array(z.strictObject({ key: z.string(), value: z.string(), count: Count }))
    .describe('The most frequent tags, at most 100.'),
  different_tags: Count.describe('Number of different tags.'),
  recent_events: z
    .array(AccountEvent)
    .describe('Newest events of the account, newest first, at most 20. Without frequent types.'),
  as_of: AsOf,
});

/** Envelope for a page of events. */
export const feedPageOf = <Schema extends z.ZodType>(schema: Schema) =>
  z.strictObject({
    data: z.array(schema),
    pagination: named('EventsPagination', {
      limit: z.int().min(1),
      has_more: z.boolean(),
      next_cursor: z.string().describe('`cursor` of the next page. Present on every page.'),
      newer_cursor: z
        .string()
        .optional()
        .describe('`cursor` of the events after this page. Only with `order=desc`.'),
    }),
  });

/** Persona in a list. Source: interface 2.8. */
export const ListedPersona = named('Persona', {
  id: PersonaId,
  name: z.string(),
  archetype: z.string(),
  description: z.string(),
  mode_profile: Strengths,
  core_values: z.array(z.string()),
  decision_style: DecisionStyle,
});

/** Persona with all its fields. Source: interface 2.8, model 5. */
export const PersonaDetail = named('PersonaDetail', {
  ...ListedPersona.shape,
  long_description: z.string(),
  preferred_actions: z.array(z.enum(ACTIONS)),
  stress_recovery: z.strictObject({
    preferred_path: z.enum(RECOVERY_PATHS),
    half_life_minutes: z.number(),
    support_required_at: z.enum(STRESS_STATES),
    cooldown_required_at: z.enum(STRESS_STATES),
  }),
});

/** Answer to `GET /test/questions`. Source: model 6. */
export const Questionnaire = named('Questionnaire', {
  test_id: z.string(),
  version: z.string(),
  instructions: z.string(),
  scale: z.strictObject({ min: z.int(), max: z.int(), labels: z.array(z.string()) }),
  question_count: z.int(),
  questions: z.array(
    z.strictObject({ id: QuestionId, position: z.int().min(1), text: z.string() }),
  ),
});

/** Answer to `POST /test/submit`. Source: model 6. */
export const TestResult = named('TestResult', {
  version: z.string(),
  mode_strengths: Strengths,
  scores: z.strictObject(
    Object.fromEntries(MODE_KEYS.map((key) => [key, z.number().min(1).max(5)])),
  ),
  dominant_modes: z.array(z.enum(MODE_NAMES)),
  nearest_personas: z
    .array(z.strictObject({ id: PersonaId, distance: z.number().min(0), fit: Unit }))
    .length(3),
  composite: CompositeKey.nullable(),
  initial_config: z.strictObject({ mode_strengths: Strengths, energy_level: Unit }),
  quality: z.strictObject({
    verdict: z.enum(['ok', 'caution', 'invalid']),
    consistency: Unit,
    acquiescence: z.number().min(-2).max(2),
    longest_run: Count,
    response_sd: z.number().min(0),
    flags: z.array(z.string()),
  }),
});
