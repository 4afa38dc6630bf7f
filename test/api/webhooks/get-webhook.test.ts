import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createWebhook, UNKNOWN } from '#test/api/webhooks/one-webhook';
import { assertRefused, sharedScene } from '#test/support/calls/scene';

const { newCaller } = await sharedScene();

const reading = suite('getting a webhook endpoint');

reading('of another account is refused like an unknown one', async () => {
  const [caller, other] = [await newCaller(), await newCaller()];
  const { id } = await createWebhook(other);
  const answers = await Promise.all(
    [id, UNKNOWN, 'whk', `${id}0`].map((one) => caller.send('GET', `/webhooks/${one}`)),
  );
  for (const answer of answers) assertRefused(answer, 404, 'not_found');
  assert.is(new Set(answers.map(({ body }) => body.message)).size, 1);
});

reading.run();
