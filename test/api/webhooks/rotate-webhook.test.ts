import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createWebhook, UNKNOWN } from '#test/api/webhooks/one-webhook';
import { assertRefused, sharedScene } from '#test/support/calls/scene';

const { newCaller } = await sharedScene();

const DAY_MS = 24 * 60 * 60 * 1_000;

const rotating = suite('rotating the secret of a webhook endpoint');

rotating('answers with a new secret, and the old one signs for a day', async () => {
  const caller = await newCaller();
  const { id, secret } = await createWebhook(caller);
  const answer = await caller.send('POST', `/webhooks/${id}/rotate`);
  assert.is(answer.status, 200, answer.text);
  const { data } = answer.body;
  assert.match(data.secret, /^whsec_/);
  assert.is.not(data.secret, secret);
  const leftMs = Date.parse(data.old_secret_until) - Date.now();
  assert.ok(leftMs > DAY_MS - 60_000 && leftMs <= DAY_MS + 60_000);
  assert.is((await caller.send('GET', `/webhooks/${id}`)).body.data.secret, undefined);
});

rotating('refuses an unknown endpoint', async () => {
  const caller = await newCaller();
  assertRefused(await caller.send('POST', `/webhooks/${UNKNOWN}/rotate`), 404, 'not_found');
});

rotating.run();
