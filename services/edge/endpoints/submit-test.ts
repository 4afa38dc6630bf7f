import { z } from 'zod';
import { endpoint } from '#edge/endpoint';
import { dataOf, TestResult } from '#edge/schemas/answers';
import { faultFor } from '#fault/fault';
import { ANSWER_MAX, ANSWER_MIN, INVENTORY, INVENTORY_VERSION } from '#identity/inventory';
import { type Answer, type Scored, score } from '#identity/scoring';

/** Source: model 6. */
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

/** Source: interface 4.3. */
export const submitTest = endpoint({
  name: 'submitTest',
  method: 'POST',
  path: '/test/submit',
  tag: 'Test',
  summary: 'Score a personality test',
  description:
    'Scores the answers and keeps nothing. `initial_config` of the result can be posted to ' +
    '`/instances` unchanged. A read-only key may do this.',
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
