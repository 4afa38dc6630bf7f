import { z } from 'zod';
import { localAnswer } from '#edge/local-answer';
import { type Operation, operation } from '#edge/operation';
import { dataOf, Questionnaire, TestResult } from '#edge/schemas/answers';
import { NoQuery } from '#edge/schemas/query';
import { Fault } from '#fault/fault';
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
import { type Answer, type Scored, score } from '#identity/scoring';

const tag = 'Test' as const;

/** The body of `POST /test/submit`. Source: identity-model 6. */
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

/** The personality test, in the order of spec 4.3. */
export const testOperations: readonly Operation[] = [
  operation({
    name: 'submitTest',
    method: 'POST',
    path: '/test/submit',
    summary: 'Score a personality test',
    tag,
    scope: 'read',
    query: NoQuery,
    body: Submission,
    response: dataOf(TestResult),
    plan: ({ body }) => {
      const answers = body.answers.map(({ question_id, value }) => ({
        questionId: question_id,
        value,
      }));
      const result = scored(answers);
      return localAnswer(() => ({ data: resultBody(result) }));
    },
  }),
  operation({
    name: 'getQuestions',
    method: 'GET',
    path: '/test/questions',
    summary: 'Get the questions of the personality test',
    tag,
    scope: 'read',
    query: NoQuery,
    response: dataOf(Questionnaire),
    plan: () => localAnswer(() => ({ data: questionnaire() })),
  }),
];

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

function scored(answers: readonly Answer[]): Scored {
  const result = score(answers);
  if (result.kind === 'scored') return result;
  const { reason, field } = result;
  const mode = 'mode' in result ? { mode: result.mode } : {};
  throw new Fault('invalid_request', `${field}: ${reason}`, { reason, field, ...mode });
}

function resultBody(result: Scored) {
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
