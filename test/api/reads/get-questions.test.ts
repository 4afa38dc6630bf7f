import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { assertRefused, limitOf, sharedScene } from '#test/support/calls/scene';

const { caller } = await sharedScene();
const get = (query = '') => caller.send('GET', `/test/questions${query}`);

const getting = suite('getting the questions of the test');

getting('is answered 200 with 35 questions in order, and without the scoring key', async () => {
  const answer = await get();
  assert.is(answer.status, 200);
  const { questions, ...rest } = answer.body.data;
  assert.equal(rest, {
    test_id: 'mode_inventory',
    version: '1.0',
    instructions:
      'How accurately does each statement describe you (or the agent you describe) at present?',
    scale: {
      min: 1,
      max: 5,
      labels: [
        'very inaccurate',
        'rather inaccurate',
        'neither',
        'rather accurate',
        'very accurate',
      ],
    },
    question_count: 35,
  });
  assert.is(questions.length, 35);
  for (const [index, question] of questions.entries()) {
    assert.equal(Object.keys(question), ['id', 'position', 'text']);
    assert.is(question.id, `q${String(index + 1).padStart(2, '0')}`);
    assert.is(question.position, index + 1);
    assert.ok(question.text.endsWith('.'));
  }
  const [first] = questions;
  assert.is(first.text, 'Before I answer, I look for the fact that does not fit.');
});

getting('costs a request and no cycle', async () => {
  const [first, second] = [await get(), await get()];
  assert.is(limitOf(second, 'remaining'), limitOf(first, 'remaining') - 1);
  assert.is(limitOf(second, 'monthly'), limitOf(first, 'monthly'));
});

getting('with a query parameter is answered 400', async () => {
  const details = { field: 'version', reason: 'unknown_parameter' };
  assertRefused(await get('?version=1.0'), 400, 'invalid_request', details);
});

getting.run();
