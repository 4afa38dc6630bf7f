import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { suite as plainSuite } from 'uvu';
import * as assert from 'uvu/assert';
import { type StripeOptions, stripeProvider } from '#billing/stripe-provider';
import { systemClock } from '#stdlib/clock';
import { unchanging } from '#stdlib/files';
import { ACCOUNT_ID } from '#test/billing/billing-events';
import { stripeMockOrSkip } from '#test/support/servers/real-servers';
import { settable } from '#test/support/settable';
import { faultIn } from '#test/support/settled';

const { address, suite } = stripeMockOrSkip();

const CHECKOUT = {
  accountId: ACCOUNT_ID,
  plan: 'pro',
  customerId: undefined,
  successUrl: 'https://shop.example/done?session={CHECKOUT_SESSION_ID}',
  cancelUrl: 'https://shop.example/plans',
} as const;

function providerAt(host: string, change: Partial<StripeOptions> = {}) {
  const [name = '', port = ''] = host.split(':');
  return stripeProvider({
    clock: systemClock,
    apiKey: unchanging('sk_test_123'),
    webhookSecrets: unchanging(['whsec_of_this_test']),
    prices: [
      { plan: 'indie', price: 'price_indie' },
      { plan: 'pro', price: 'price_pro' },
      { plan: 'pro', price: 'price_pro_old' },
    ],
    api: { protocol: 'http', host: name, port: Number(port) },
    ...change,
  });
}

const real = suite('the Stripe adapter against stripe-mock');

real('opens a checkout page for new and existing customers', async () => {
  const provider = providerAt(address);
  for (const customerId of [undefined, 'cus_123']) {
    const { url } = await provider.checkout({ ...CHECKOUT, customerId });
    assert.match(url, /^https:\/\//);
  }
});

real('opens a portal page', async () => {
  const request = { customerId: 'cus_123', returnUrl: 'https://shop.example/account' };
  assert.match((await providerAt(address).portal(request)).url, /^https:\/\//);
});

// Report 8: a dispute names neither its customer nor its invoice, and no code looked for them.
real('finds the customer and the invoice of a charge', async () => {
  const charge = {
    kind: 'charge',
    id: 'evt_1',
    atMs: 1,
    chargeId: 'ch_1',
    outcome: 'taken',
  } as const;
  const unknown = { paymentIntentId: 'pi_1', customerId: undefined, invoiceId: undefined };
  const known = { ...charge, ...unknown, customerId: 'cus_1' };
  const charged = await providerAt(address).chargedFor(known);
  assert.is(charged?.customerId, 'cus_1');
  assert.ok(charged?.invoiceId, 'stripe-mock invents an id');
  await providerAt(address).chargedFor({ ...charge, ...unknown });
});

real('reports a refused API key as a configuration error, without showing the key', async () => {
  const apiKey = unchanging('no key at all');
  const refused = await faultIn(providerAt(address, { apiKey }).checkout(CHECKOUT));
  assert.is(refused.code, 'billing_provider_not_configured');
  assert.not.match(refused.message, /key/i);
});

/** A server that gives every request the same answer, and records the requests in `asked`. */
async function answering(status: number, body: object) {
  const asked: { url: string; body: string; headers: Record<string, unknown> }[] = [];
  const server: Server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const { url = '', headers } = request;
    asked.push({ url, body: Buffer.concat(chunks).toString(), headers });
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const close = async () => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  };
  return { asked, host: `127.0.0.1:${port}`, [Symbol.asyncDispose]: close };
}

const PAGE = { url: 'https://checkout.stripe.example/c/pay/1' };

const call = plainSuite('a call to Stripe');

call('contains the account in every field that Stripe copies to notifications', async () => {
  await using stripe = await answering(200, PAGE);
  assert.equal(await providerAt(stripe.host).checkout(CHECKOUT), PAGE);
  const [{ url, body } = { url: '', body: '' }] = stripe.asked;
  assert.is(url, '/v1/checkout/sessions');
  const fields = Object.fromEntries(new URLSearchParams(body));
  assert.equal(fields, {
    mode: 'subscription',
    'line_items[0][price]': 'price_pro',
    'line_items[0][quantity]': '1',
    success_url: CHECKOUT.successUrl,
    cancel_url: CHECKOUT.cancelUrl,
    client_reference_id: ACCOUNT_ID,
    'metadata[account_id]': ACCOUNT_ID,
    'subscription_data[metadata][account_id]': ACCOUNT_ID,
  });
});

// Report 8: a dispute names neither its customer nor its invoice, and nothing looked for them.
call('finds the customer and the invoice of a charge that lacks both', async () => {
  const charge = { customer: 'cus_1', payment_intent: 'pi_1' };
  await using stripe = await answering(200, { ...charge, data: [{ invoice: 'in_1' }] });
  const unknown = { paymentIntentId: undefined, customerId: undefined, invoiceId: undefined };
  const event = {
    kind: 'charge',
    id: 'evt_1',
    atMs: 1,
    chargeId: 'ch_1',
    outcome: 'taken',
  } as const;
  const found = await providerAt(stripe.host).chargedFor({ ...event, ...unknown });
  assert.equal(found, { customerId: 'cus_1', invoiceId: 'in_1' });
  assert.is(stripe.asked[0]?.url, '/v1/charges/ch_1');
  assert.match(stripe.asked[1]?.url ?? '', /^\/v1\/invoice_payments\?.*pi_1/);
});

call('uses the current key, and sends no telemetry about earlier calls', async () => {
  await using stripe = await answering(200, PAGE);
  const apiKey = settable('sk_test_first');
  const provider = providerAt(stripe.host, { apiKey });
  await provider.checkout(CHECKOUT);
  apiKey.set('sk_test_second');
  await provider.checkout(CHECKOUT);
  const shown = stripe.asked.map(({ headers }) => headers['authorization']);
  assert.equal(shown, ['Bearer sk_test_first', 'Bearer sk_test_second']);
  assert.not('x-stripe-client-telemetry' in (stripe.asked[1]?.headers ?? {}));
});

for (const [status, type, code] of [
  [400, 'invalid_request_error', 'billing_provider_not_configured'],
  [401, 'invalid_request_error', 'billing_provider_not_configured'],
  [403, 'invalid_request_error', 'billing_provider_not_configured'],
  [429, 'rate_limit_error', 'service_unavailable'],
  [500, 'api_error', 'service_unavailable'],
] as const) {
  call(`maps Stripe's status ${status} to ${code}`, async () => {
    await using stripe = await answering(status, { error: { type, message: 'sk_test_secret' } });
    const refused = await faultIn(providerAt(stripe.host).checkout(CHECKOUT));
    assert.is(refused.code, code);
    assert.not.match(refused.message, /secret/);
  });
}

call('fails with service_unavailable if Stripe cannot be reached', async () => {
  await using stripe = await answering(200, PAGE);
  const { host } = stripe;
  await stripe[Symbol.asyncDispose]().catch(() => {});
  const refused = await faultIn(providerAt(host).checkout(CHECKOUT));
  assert.equal([refused.code, refused.reason], ['service_unavailable', 'billing_unavailable']);
});

call('fails if the answer has no safe page URL', async () => {
  for (const url of [null, '', 'javascript:alert(1)', `https://a/${'x'.repeat(8_192)}`]) {
    await using stripe = await answering(200, { url });
    const refused = await faultIn(providerAt(stripe.host).checkout(CHECKOUT));
    assert.is(refused.code, 'service_unavailable', `${url}`.slice(0, 40));
  }
});

call('requires a price for the plan', async () => {
  const refused = await faultIn(providerAt('127.0.0.1:1', { prices: [] }).checkout(CHECKOUT));
  assert.is(refused.code, 'billing_provider_not_configured');
});

for (const each of [real, call]) each.run();
