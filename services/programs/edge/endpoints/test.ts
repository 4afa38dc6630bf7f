import { z } from 'zod';
import { endpoint, type PathId } from '#edge/endpoints/endpoint';
import {
  dataOf,
  ListedPersona,
  listOf,
  PersonaDetail,
  Questionnaire,
  TestResult,
} from '#edge/schemas/answers';
import { PersonasQuery } from '#edge/schemas/instance';
import { Fault, faultFor } from '#errors/fault';
import {
  ANSWER_LABELS,
  ANSWER_MAX,
  ANSWER_MIN,
  INVENTORY,
  INVENTORY_ID,
  INVENTORY_INSTRUCTIONS,
  INVENTORY_VERSION,
  QUESTIONS,
} from '#identity/inventory';
import { PERSONA_PROFILES } from '#identity/persona-profiles';
import { findPersona, PERSONAS, type Persona } from '#identity/personas';
import { type Answer, type Scored, score } from '#identity/scoring';

/** Endpoint `GET /test/questions`. Source: interface 4.3. */
export const getQuestions = endpoint({
  name: 'getQuestions',
  method: 'GET',
  path: '/test/questions',
  tag: 'Test',
  summary: 'Get the questions of the personality test',
  description: 'Ask the items in the order of the list.',
  scope: 'read',
  response: dataOf(Questionnaire),
  examples: [{ summary: 'the test' }],
  handler: { kind: 'stateless', answer: async () => ({ data: questionnaire() }) },
});

function questionnaire() {
  return {
    test_id: INVENTORY_ID,
    version: INVENTORY_VERSION,
    instructions: INVENTORY_INSTRUCTIONS,
    scale: { min: ANSWER_MIN, max: ANSWER_MAX, labels: ANSWER_LABELS },
    question_count: QUESTIONS.length,
    questions: QUESTIONS,
  };
}

/** Body for `POST /test/submit`. Source: model 6. */
const Submission = z
  .strictObject({
    version: z.literal(INVENTORY_VERSION).optional(),
    answers: z
      .array(
        z.strictObject({
          question_id: z.string().meta({ enum: INVENTORY.map(({ id }) => id) }),
          value: z.number().meta({ type: 'integer', minimum: ANSWER_MIN, maximum: ANSWER_MAX }),
        }),
      )
      .max(INVENTORY.length),
  })
  .meta({
    id: 'Submission',
    examples: [
      {
        version: INVENTORY_VERSION,
        answers: INVENTORY.map(({ id }, index) => ({ question_id: id, value: 2 + (index % 3) })),
      },
    ],
  });

/** Endpoint `POST /test/submit`. Source: interface 4.3. */
export const submitTest = endpoint({
  name: 'submitTest',
  method: 'POST',
  path: '/test/submit',
  tag: 'Test',
  summary: 'Score a personality test',
  description:
    'Scores the answers and stores nothing. Pass `initial_config` of the result unchanged to ' +
    '`POST /instances`. A read-only key is sufficient.',
  scope: 'read',
  body: Submission,
  response: dataOf(TestResult),
  refusals: [
    'missing_field',
    'out_of_range',
    'unknown_value',
    'too_long',
    'unknown_question',
    'duplicate_question',
    'too_few_answers',
  ],
  examples: [{ summary: 'the result' }],
  handler: {
    kind: 'stateless',
    answer: async ({ body }) => {
      const answers = body.answers.map(({ question_id, value }) => ({
        questionId: question_id,
        value,
      }));
      return { data: resultOf(scored(answers)) };
    },
  },
});

function scored(answers: readonly Answer[]): Scored {
  const result = score(answers);
  if (result.kind === 'scored') return result;
  const { reason, field } = result;
  const mode = 'mode' in result ? { mode: result.mode } : {};
  throw faultFor(reason, `${field}: ${reason}`, { field, ...mode });
}

function resultOf(result: Scored) {
  const { verdict, consistency, acquiescence, longestRun, responseSd, flags } = result.quality;
  return {
    version: result.version,
    mode_strengths: result.modeStrengths,
    scores: result.scores,
    dominant_modes: result.dominantModes,
    nearest_personas: result.nearestPersonas,
    composite: result.composite ?? null,
    initial_config: {
      mode_strengths: result.initialConfig.modeStrengths,
      energy_level: result.initialConfig.energyLevel,
    },
    quality: {
      verdict,
      consistency,
      acquiescence,
      longest_run: longestRun,
      response_sd: responseSd,
      flags,
    },
  };
}

/** Endpoint `GET /personas`. Source: interface 4.4. */
export const listPersonas = endpoint({
  name: 'listPersonas',
  method: 'GET',
  path: '/personas',
  tag: 'Personas',
  summary: 'List the 12 personas',
  description: 'The list has one page.',
  scope: 'read',
  query: PersonasQuery,
  response: listOf(ListedPersona),
  examples: [{ summary: 'all personas' }],
  handler: {
    kind: 'stateless',
    answer: async () => ({
      data: PERSONAS.map(listedPersona),
      pagination: { total: PERSONAS.length },
    }),
  },
});

/** A persona as the list shows it. Source: interface 2.8. */
function listedPersona(persona: Persona) {
  const { id, name, archetype, description, modeProfile, coreValues } = persona;
  const { commitmentThreshold, ...style } = persona.decisionStyle;
  return {
    id,
    name,
    archetype,
    description,
    mode_profile: modeProfile,
    core_values: coreValues,
    decision_style: { ...style, commitment_threshold: commitmentThreshold },
  };
}

/** Persona id, from the closed list. */
const PERSONA_ID: PathId = {
  description: 'Id of a persona.',
  schema: { type: 'string', enum: PERSONA_PROFILES.map(({ id }) => id) },
  unknown: 'persona_unknown',
};

/** Endpoint `GET /personas/{id}`. Source: interface 4.4. */
export const getPersona = endpoint({
  name: 'getPersona',
  method: 'GET',
  path: '/personas/:id',
  pathId: PERSONA_ID,
  tag: 'Personas',
  summary: 'Get a persona',
  description: '`mode_profile` has the same keys as `mode_strengths` of an instance.',
  scope: 'read',
  response: dataOf(PersonaDetail),
  examples: [{ summary: 'a persona', id: 'persona_analytical' }],
  handler: { kind: 'stateless', answer: async ({ id }) => ({ data: detailed(id) }) },
});

function detailed(id: string) {
  const persona = findPersona(id);
  if (persona === undefined) throw new Fault('not_found', 'unknown persona');
  const { preferredPath, halfLifeMinutes, supportRequiredAt, cooldownRequiredAt } =
    persona.stressRecovery;
  return {
    ...listedPersona(persona),
    long_description: persona.longDescription,
    preferred_actions: persona.preferredActions,
    stress_recovery: {
      preferred_path: preferredPath,
      half_life_minutes: halfLifeMinutes,
      support_required_at: supportRequiredAt,
      cooldown_required_at: cooldownRequiredAt,
    },
  };
}
