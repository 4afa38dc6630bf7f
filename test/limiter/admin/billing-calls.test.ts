import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { BillingDesk } from '#billing/billing-desk';
import { faultFor } from '#errors/fault';
import { AccountCalls } from '#limiter/calls';
import { memoryTrail } from '#test/support/memory-trail';
import { faultIn } from '#test/support/settled';

const ACCOUNT = 'Acc0unt00001';
const BY = { keyId: 'key_1', address: '192.0.2.1', requestId: 'request-1' };
const CHECKOUT = { by: BY, plan: 'pro', successUrl: 'https://a.example', cancelUrl: 'https://b' };

/**
 * The billing calls of a limiter with a fake billing desk. `outcomes` returns the outcomes in the
 * audit lines, newest first.
 */
function openCalls(desk: Partial<BillingDesk> | undefined) {
  const trail = memoryTrail();
  const calls = new AccountCalls(trail, desk as BillingDesk | undefined);
  return {
    async ask(name: string, body: unknown) {
      const call = { kind: 'account', accountId: ACCOUNT, callId: 0, callTag: 0 } as const;
      return (await calls.answer({ ...call, name, body })).body;
    },
    outcomes: async () =>
      (await trail.page(ACCOUNT, { limit: 10 })).lines.map(({ outcome }) => outcome),
  };
}

const purchase = suite('a request for a page of the payment provider');

purchase('is in the audit trail before the provider receives the request', async () => {
  const seen: unknown[] = [];
  const { ask, outcomes } = openCalls({
    async checkout(...asked) {
      seen.push(asked, await outcomes());
      return { url: 'https://pay.example/' };
    },
  });
  assert.equal(await ask('billing.checkout', CHECKOUT), { url: 'https://pay.example/' });
  const { by: _, ...request } = CHECKOUT;
  assert.equal(seen, [[ACCOUNT, request], ['begun']]);
  assert.equal(await outcomes(), ['done', 'begun']);
});

purchase('also writes an audit line if refused', async () => {
  const { ask, outcomes } = openCalls({
    portal: async () => {
      throw faultFor('billing_unavailable', 'later');
    },
  });
  const refused = await faultIn(ask('billing.portal', { by: BY, returnUrl: 'https://a.example' }));
  assert.is(refused.reason, 'billing_unavailable');
  assert.equal(await outcomes(), ['service_unavailable', 'begun']);
});

purchase(
  'is refused without a billing desk, and if its fields differ from those that an edge sends',
  async () => {
    const nowhere = openCalls(undefined);
    const refused = await faultIn(nowhere.ask('billing.checkout', CHECKOUT));
    assert.is(refused.code, 'billing_provider_not_configured');
    const { plan: _, ...less } = CHECKOUT;
    assert.is((await faultIn(nowhere.ask('billing.checkout', less))).code, 'internal');
    const raw = { rawBody: 'not base64!', signature: '' };
    assert.is((await faultIn(nowhere.ask('billing.notified', raw))).code, 'internal');
    assert.equal(await nowhere.outcomes(), []);
  },
);

const notification = suite('a notification from an edge');

notification('reaches the billing desk byte for byte', async () => {
  const seen: unknown[] = [];
  const { ask } = openCalls({
    async notified(rawBody, signature) {
      seen.push([...rawBody], signature);
      return 'changed';
    },
  });
  const rawBody = Buffer.from([0, 255, 10]).toString('base64');
  assert.equal(await ask('billing.notified', { rawBody, signature: 't=1' }), {
    outcome: 'changed',
  });
  assert.equal(seen, [[0, 255, 10], 't=1']);
});

for (const each of [purchase, notification]) each.run();
