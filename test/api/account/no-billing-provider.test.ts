import { suite } from 'uvu';
import { bought, keyless } from '#test/support/calls/billing-scene';
import { assertRefused, sharedScene } from '#test/support/calls/scene';

const scene = await sharedScene();
const { caller } = scene;

const BACK = 'https://app.example/billing';

const nowhere = suite('a service without a payment provider');

nowhere('refuses checkouts, portal pages and notifications with 500', async () => {
  const { body, signature } = bought(caller.accountId);
  for (const answer of [
    await caller.send('POST', '/billing/checkout', {
      json: { plan: 'pro', success_url: BACK, cancel_url: BACK },
    }),
    await caller.send('POST', '/billing/portal', { json: { return_url: BACK } }),
    await keyless(scene).notify(body, signature),
  ]) {
    const request_id = answer.headers.get('x-request-id');
    assertRefused(answer, 500, 'billing_provider_not_configured', { request_id });
  }
});

nowhere.run();
