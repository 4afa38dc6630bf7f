import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createWebhook, UNKNOWN } from '#test/api/webhooks/one-webhook';
import { assertRefused, sharedScene } from '#test/support/calls/scene';

const { newCaller } = await sharedScene();

const redelivering = suite('delivering changes again');

redelivering('needs changes in the log, and an active endpoint', async () => {
  const caller = await newCaller();
  const { id } = await createWebhook(caller);
  const path = `/webhooks/${id}/redeliver`;
  const ask = (positions: unknown) => caller.send('POST', path, { json: { positions } });
  assertRefused(await ask([0]), 404, 'not_found', { field: 'positions' });
  await caller.createInstance();
  await caller.send('GET', '/events?wait=8');
  assert.equal((await ask([0])).body, { data: { changes: 1 } });
  assertRefused(await ask([0, 1]), 404, 'not_found', { field: 'positions' });
  await caller.send('PATCH', `/webhooks/${id}`, { json: { is_paused: true } });
  assertRefused(await ask([0]), 409, 'conflict');
  assert.is((await ask([])).body.details.reason, 'too_short');
  assert.is((await ask([-1])).body.details.reason, 'out_of_range');
  const other = `/webhooks/${UNKNOWN}/redeliver`;
  assertRefused(await caller.send('POST', other, { json: { positions: [0] } }), 404, 'not_found');
});

redelivering.run();
