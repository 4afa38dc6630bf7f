import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createWebhook, UNKNOWN } from '#test/api/webhooks/one-webhook';
import { assertRefused, sharedScene } from '#test/support/calls/scene';

const { newCaller } = await sharedScene();

const changing = suite('changing a webhook endpoint');

changing('changes only the given fields, and pauses and resumes', async () => {
  const caller = await newCaller();
  const { secret: _, ...made } = await createWebhook(caller, { description: 'before' });
  const change = async (json: Record<string, unknown>) => {
    const answer = await caller.send('PATCH', `/webhooks/${made.id}`, { json });
    assert.is(answer.status, 200, answer.text);
    return answer.body.data;
  };
  assert.equal(await change({}), made);
  assert.equal(await change({ max_batch: 7 }), { ...made, max_batch: 7 });
  const paused = await change({ is_paused: true, description: 'after' });
  assert.equal([paused.paused, paused.description], ['requested', 'after']);
  assert.is((await change({ url: 'https://other.invalid/' })).paused, 'requested');
  const resumed = await change({ is_paused: false });
  assert.equal([resumed.paused, resumed.url], [null, 'https://other.invalid/']);
});

changing('refuses a private address, an unknown endpoint and a read-only key', async () => {
  const caller = await newCaller();
  const { id } = await createWebhook(caller);
  const json = { url: 'https://10.0.0.1/' };
  const details = { field: 'url', reason: 'endpoint_refused' };
  const refused = await caller.send('PATCH', `/webhooks/${id}`, { json });
  assertRefused(refused, 422, 'invalid_request', details);
  const empty = { json: {} };
  assertRefused(await caller.send('PATCH', `/webhooks/${UNKNOWN}`, empty), 404, 'not_found');
  const reader = await newCaller({ scope: 'read' });
  const forbidden = await reader.send('PATCH', `/webhooks/${id}`, empty);
  assert.is(forbidden.body.details.reason, 'read_only_key');
});

changing.run();
