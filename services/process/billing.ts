import type { AuditTrail } from '#audit/audit-trail';
import { type BillingDesk, type BillingDeskPorts, billingDesk } from '#billing/billing-desk';
import type { BillingProvider } from '#billing/billing-provider';
import { type Config, ConfigError } from '#config';
import type { AccountAdmin } from '#limiter/account-admin';
import type { Clock } from '#platform/clock';
import type { CredentialFiles } from '#process/credential-files';
import { openBillingProvider } from '#process/ports';
import { secretOf } from '#process/secret-files';
import type { AccountStore } from '#storage/account-store';
import type { BillingStore } from '#storage/billing-store';

const DAY_MS = 86_400_000;

/** What billing takes from its process, which is a limiter or standalone. */
export type BillingFoundation = {
  readonly clock: Clock;
  readonly credentials: CredentialFiles;
  /** The role of the process. */
  readonly service: string;
};

/** The stores and the administration that billing changes plans through. */
type BillingParts = {
  readonly stores: { readonly accounts: AccountStore; readonly billing: BillingStore };
  readonly admin: Pick<AccountAdmin, 'setPlan'>;
  readonly audit: AuditTrail;
};

/** The desk of a process. Rejects with `ConfigError` for a provider that lacks something. */
export async function openBillingDesk(
  config: Config,
  foundation: BillingFoundation,
  { stores, admin, audit }: BillingParts,
): Promise<BillingDesk> {
  return billingDesk({
    provider: await billingProviderOf(config, foundation),
    billing: stores.billing,
    accounts: stores.accounts,
    setPlan: admin.setPlan,
    audited: auditedIn(audit),
    clock: foundation.clock,
    graceMs: config.SERVICE_BILLING_GRACE_DAYS * DAY_MS,
  });
}

/** Changes of plans between two lines of the account's audit trail. */
function auditedIn(audit: AuditTrail): BillingDeskPorts['audited'] {
  return async ({ accountId, after, ...entry }, change) =>
    await audit.around(accountId, entry, change, () => ({ after }));
}

async function billingProviderOf(
  config: Config,
  foundation: BillingFoundation,
): Promise<BillingProvider | undefined> {
  const kind = config.SERVICE_BILLING_PROVIDER;
  if (kind === 'none') return undefined;
  const webhookSecrets = given(
    secretOf(config, 'SERVICE_BILLING_WEBHOOK_SECRET', foundation),
    'SERVICE_BILLING_WEBHOOK_SECRET',
    kind,
  );
  if (kind === 'local') return await openBillingProvider({ kind, webhookSecrets });
  const apiKey = given(
    secretOf(config, 'SERVICE_BILLING_API_KEY', foundation),
    'SERVICE_BILLING_API_KEY',
    kind,
  );
  const prices = given(config.SERVICE_BILLING_PRICES, 'SERVICE_BILLING_PRICES', kind);
  const { clock } = foundation;
  return await openBillingProvider({ kind, clock, apiKey, webhookSecrets, prices });
}

function given<Value>(value: Value | undefined, variable: string, kind: string): Value {
  if (value !== undefined) return value;
  throw new ConfigError(`${variable}: SERVICE_BILLING_PROVIDER=${kind} needs it`);
}
