import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createWebhook, UNKNOWN } from '#test/api/webhooks/one-webhook';
import { assertRefused, sharedScene } from '#test/support/calls/scene';

const { newCaller } = await sharedScene();

const listing = suite('the deliveries of a webhook endpoint');

listing('have failed attempts, and the endpoint shows since when it fails', async () => {
  const caller = await newCaller({ requestsPerMinute: 1_000 });
  const { id } = await createWebhook(caller);
  await caller.createInstance();
  const endMs = performance.now() + 60_000;
  for (;;) {
    const { body } = await caller.send('GET', `/webhooks/${id}/deliveries`);
    const [attempt] = body.data.attempts;
    if (attempt !== undefined) {
      assert.is(attempt.events, 1);
      assert.type(attempt.failure, 'string');
      break;
    }
    assert.ok(performance.now() < endMs, 'no attempt');
    await caller.send('GET', '/events?wait=1&start=newest');
  }
  assert.type((await caller.send('GET', `/webhooks/${id}`)).body.data.failing_since, 'string');
});

listing('of an unknown endpoint are refused', async () => {
  const caller = await newCaller();
  assertRefused(await caller.send('GET', `/webhooks/${UNKNOWN}/deliveries`), 404, 'not_found');
});

listing.run();
