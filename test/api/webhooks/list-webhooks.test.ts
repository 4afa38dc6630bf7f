import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createWebhook } from '#test/api/webhooks/one-webhook';
import { sharedScene } from '#test/support/calls/scene';

const { newCaller } = await sharedScene();

const listing = suite('listing webhook endpoints');

listing('answers with the endpoints of the account, oldest first, without secrets', async () => {
  const [caller, other] = [await newCaller(), await newCaller()];
  const first = await createWebhook(caller, { description: 'first' });
  const second = await createWebhook(caller, { description: 'second' });
  await createWebhook(other);
  const { body } = await caller.send('GET', '/webhooks');
  const without = ({ secret: _, ...rest }: Record<string, unknown>) => rest;
  assert.equal(body, { data: [first, second].map(without), pagination: { total: 2 } });
});

listing('works with a read-only key', async () => {
  const caller = await newCaller({ scope: 'read' });
  assert.equal((await caller.send('GET', '/webhooks')).body.data, []);
});

listing.run();
