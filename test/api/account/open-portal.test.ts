import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { bought, keyless, LOCAL_BILLING } from '#test/support/calls/billing-scene';
import { assertRefused, openScene } from '#test/support/calls/scene';

const scene = await openScene(LOCAL_BILLING);
const { newCaller, close } = scene;

const BACK = { json: { return_url: 'https://app.example/billing' } };

const portal = suite('the portal page to change a bought plan');

portal('belongs to the account’s customer, and is recorded in the audit trail', async () => {
  const caller = await newCaller({ plan: 'free' });
  const { body, signature } = bought(caller.accountId);
  assert.is((await keyless(scene).notify(body, signature)).status, 200);
  const answer = await caller.send('POST', '/billing/portal', BACK);
  const url = `http://billing.invalid/portal?customer=cus_${caller.accountId}`;
  assert.equal([answer.status, answer.body], [200, { data: { url } }]);
  const { data: lines } = (await caller.send('GET', '/audit?action=billing.portal')).body;
  assert.equal(
    lines.map(({ outcome }: { outcome: string }) => outcome),
    ['done', 'begun'],
  );
});

portal('is refused to an account that has never bought a plan', async () => {
  const caller = await newCaller({ plan: 'free' });
  const answer = await caller.send('POST', '/billing/portal', BACK);
  assertRefused(answer, 404, 'not_found');
});

portal('accepts only safe return URLs', async () => {
  const caller = await newCaller({ plan: 'free' });
  const json = { return_url: 'https://user@app.example/' };
  const answer = await caller.send('POST', '/billing/portal', { json });
  const details = { reason: 'invalid_text', field: 'return_url' };
  assertRefused(answer, 422, 'invalid_request', details);
});

portal.after(close);

portal.run();
