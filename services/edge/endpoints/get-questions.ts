import { endpoint } from '#edge/endpoint';
import { dataOf, Questionnaire } from '#edge/schemas/answers';
import {
  ANSWER_LABELS,
  ANSWER_MAX,
  ANSWER_MIN,
  INVENTORY_ID,
  INVENTORY_INSTRUCTIONS,
  INVENTORY_VERSION,
  QUESTIONS,
} from '#identity/inventory';

/** Source: interface 4.3. */
export const getQuestions = endpoint({
  name: 'getQuestions',
  method: 'GET',
  path: '/test/questions',
  tag: 'Test',
  summary: 'Get the questions of the personality test',
  description: 'The items in the order in which they are to be asked.',
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
