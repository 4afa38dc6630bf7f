import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Account } from '#accounts/account';
import { limitsOf } from '#accounts/plan';
import { signatureOf } from '#billing/signed-notification';
import { ConfigError, readConfig } from '#config';
import { openBillingDesk } from '#startup/limiter';
import { CredentialFiles } from '#startup/process/secrets';
import { memoryAccountStore } from '#storage/memory/accounts';
import { memoryBillingStore } from '#storage/memory/meters';
import { createLogger } from '#telemetry/logger';
import { createMetrics } from '#telemetry/metrics';
import { ManualClock } from '#test/support/manual-clock';
import { memoryTrail } from '#test/support/memory-trail';
import { faultIn, refusalOf } from '#test/support/settled';
import { TEST_ORIGIN } from '#test/support/test-logger';

const folder = mkdtempSync(join(tmpdir(), 'billing-'));

const STRIPE = {
  SERVICE_BILLING_PROVIDER: 'stripe',
  SERVICE_BILLING_API_KEY: 'sk_test_of_this_test',
  SERVICE_BILLING_WEBHOOK_SECRET: 'whsec_of_this_test',
  SERVICE_BILLING_PRICES: 'indie=price_1,pro=price_2,pro=price_3',
};

const ACCOUNT: Account = {
  id: 'Acc0unt00001',
  name: 'a',
  plan: 'free',
  status: 'active',
  limits: limitsOf({ plan: 'free' }),
  createdAtMs: 1,
};

/** Starts a billing desk with these variables, in memory. */
async function deskOf(variables: Record<string, string>, clock = new ManualClock()) {
  const logger = createLogger('silent', TEST_ORIGIN);
  const credentials = new CredentialFiles({ clock, logger, metrics: createMetrics() });
  const accounts = memoryAccountStore(clock);
  await accounts.create(ACCOUNT);
  const desk = await openBillingDesk(
    readConfig(variables),
    { clock, credentials, service: 'limiter' },
    {
      stores: { accounts, billing: memoryBillingStore() },
      admin: { setPlan: async () => ACCOUNT },
      audit: memoryTrail(clock),
    },
  );
  return { desk, clock, [Symbol.dispose]: () => credentials[Symbol.dispose]() };
}

const EVENT = JSON.stringify({ id: 'evt_1', type: 'ping', created: 1, data: { object: {} } });

async function notified({ desk, clock }: Awaited<ReturnType<typeof deskOf>>, secret: string) {
  const signature = signatureOf(EVENT, secret, clock.wallMs());
  return await desk.notified(new TextEncoder().encode(EVENT), signature);
}

const start = suite('billing at the start of a process');

start('is off without a named provider', async () => {
  using scene = await deskOf({});
  const refused = await faultIn(notified(scene, 'whsec_of_this_test'));
  assert.is(refused.code, 'billing_provider_not_configured');
});

start('uses the named provider with the given secrets', async () => {
  for (const SERVICE_BILLING_PROVIDER of ['stripe', 'local']) {
    using scene = await deskOf({ ...STRIPE, SERVICE_BILLING_PROVIDER });
    assert.is(await notified(scene, 'whsec_of_this_test'), 'ignored');
    const refused = await faultIn(notified(scene, 'whsec_of_another_one'));
    assert.is(refused.code, 'webhook_verification_failed');
  }
});

start('is refused with one line about missing provider settings', async () => {
  for (const name of Object.keys(STRIPE).slice(1)) {
    const { [name as keyof typeof STRIPE]: _, ...rest } = STRIPE;
    const refusal = await refusalOf(() => deskOf(rest));
    assert.instance(refusal, ConfigError);
    const expected = `${name} is not set: SERVICE_BILLING_PROVIDER=stripe needs the value`;
    assert.is(refusal.message, expected);
  }
  const local = await refusalOf(() => deskOf({ SERVICE_BILLING_PROVIDER: 'local' }));
  assert.match(local.message, /^SERVICE_BILLING_WEBHOOK_SECRET is not set: [^\n]* the value$/);
});

start('is refused with one line about an invalid value, without secrets', async () => {
  for (const [name, value] of [
    ['SERVICE_BILLING_PROVIDER', 'paypal'],
    ['SERVICE_BILLING_API_KEY', 'pk_test_public'],
    ['SERVICE_BILLING_API_KEY', 'svc_sk_ours'],
    ['SERVICE_BILLING_WEBHOOK_SECRET', 'short'],
    ['SERVICE_BILLING_WEBHOOK_SECRET', 'whsec_first_secret,whsec_second_one,whsec_third_one_'],
    ['SERVICE_BILLING_PRICES', 'indie=price_1'],
    ['SERVICE_BILLING_PRICES', 'indie=price_1,pro=price_1'],
    ['SERVICE_BILLING_PRICES', 'indie=price_1,pro=price_2,gold=price_3'],
    ['SERVICE_BILLING_PRICES', 'indie=price_1,pro=a price'],
    ['SERVICE_BILLING_PRICES', ''],
    ['SERVICE_BILLING_GRACE_DAYS', '91'],
    ['SERVICE_BILLING_GRACE_DAYS', '-1'],
    ['SERVICE_BILLING_GRACE_DAYS', ''],
  ] as const) {
    const { message } = await refusalOf(() => readConfig({ ...STRIPE, [name]: value }));
    assert.ok(message.startsWith(`${name}: `) && !message.includes('\n'), message);
    assert.not.match(message, /public|ours|first_secret/);
  }
});

const rotated = suite('billing secrets in files');

rotated('are reloaded while the process runs', async () => {
  const path = join(folder, 'webhook');
  writeFileSync(path, 'whsec_of_the_first_time\n');
  const { SERVICE_BILLING_WEBHOOK_SECRET: _, ...rest } = STRIPE;
  using scene = await deskOf({ ...rest, SERVICE_BILLING_WEBHOOK_SECRET_FILE: path });
  assert.is(await notified(scene, 'whsec_of_the_first_time'), 'ignored');
  writeFileSync(path, 'whsec_of_the_second_time\nwhsec_of_the_first_time\n');
  const deadlineMs = performance.now() + 20_000;
  for (;;) {
    scene.clock.advance(2_000);
    // File reads do not depend on the fake clock.
    await new Promise((resolve) => setTimeout(resolve, 10));
    const outcome = await notified(scene, 'whsec_of_the_second_time').catch(() => 'refused');
    if (outcome === 'ignored') break;
    assert.ok(performance.now() < deadlineMs, 'the new secret was not loaded in time');
  }
  assert.is(await notified(scene, 'whsec_of_the_first_time'), 'ignored');
});

rotated.after(() => rmSync(folder, { recursive: true }));

for (const each of [start, rotated]) each.run();
