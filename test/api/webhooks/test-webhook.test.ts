import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createWebhook, UNKNOWN } from '#test/api/webhooks/one-webhook';
import { assertRefused, sharedScene } from '#test/support/calls/scene';

const { newCaller } = await sharedScene();

const testing = suite('testing a webhook endpoint');

testing('answers with the failure of an address that no name server knows', async () => {
  const caller = await newCaller();
  const { id } = await createWebhook(caller);
  const { status, body, text } = await caller.send('POST', `/webhooks/${id}/test`);
  assert.is(status, 200, text);
  const { message_id: messageId, failure, events } = body.data;
  assert.ok(messageId.startsWith(`${id}-test`));
  // A service of three processes has no courier in this test.
  assert.ok(['no_public_address', 'no_connection', 'timeout', 'courier_away'].includes(failure));
  assert.is(events, 0);
});

testing('refuses an unknown endpoint', async () => {
  const caller = await newCaller();
  assertRefused(await caller.send('POST', `/webhooks/${UNKNOWN}/test`), 404, 'not_found');
});

testing.run();
