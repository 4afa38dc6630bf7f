import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createWebhook } from '#test/api/webhooks/one-webhook';
import { assertRefused, sharedScene } from '#test/support/calls/scene';

const { newCaller } = await sharedScene();

const deleting = suite('deleting a webhook endpoint');

deleting('removes it, and a second deletion finds nothing', async () => {
  const caller = await newCaller();
  const [{ id }, kept] = [await createWebhook(caller), await createWebhook(caller)];
  const answer = await caller.send('DELETE', `/webhooks/${id}`);
  assert.equal(answer.body, { data: { id, deleted: true } });
  assertRefused(await caller.send('DELETE', `/webhooks/${id}`), 404, 'not_found');
  const { body } = await caller.send('GET', '/webhooks');
  assert.equal(
    body.data.map((one: { id: string }) => one.id),
    [kept.id],
  );
});

deleting.run();
