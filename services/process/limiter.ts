import type { AccountNews } from '#accounts/account';
import { AuditTrail } from '#audit/trail';
import { type BillingDesk, type BillingDeskPorts, billingDesk } from '#billing/billing-desk';
import type { BillingProvider } from '#billing/provider';
import { type Config, ConfigError } from '#config';
import type { LimiterConfig } from '#limiter/actors';
import type { AccountAdmin } from '#limiter/admin/accounts';
import { composeLimiter, type Limiter, LimiterNode } from '#limiter/limiter-node';
import type { Clock } from '#platform/clock';
import { busAccountNews, serverObserver } from '#process/cluster';
import type { Foundation } from '#process/foundation';
import type { Opened } from '#process/life';
import {
  type ClusterParts,
  nodeConfigOf,
  nodePortsOf,
  openNodeProcess,
  showShards,
} from '#process/node';
import { openBillingProvider } from '#process/ports';
import { type CredentialFiles, secretOf } from '#process/secrets';
import type { LocalStores } from '#process/stores';
import type { AccountStore } from '#storage/ports/accounts';
import type { AuditStore } from '#storage/ports/audit';
import type { BillingStore } from '#storage/ports/billing';
import { adminClient } from '#wire/admin';
import { frameService } from '#wire/frame-service';
import type { WireService } from '#wire/grpc-server';
import { limiterProtocol } from '#wire/limiter-codec';
import type { LimiterClient } from '#wire/limiter-messages';

type SetPlan = Parameters<AccountAdmin['setPlan']>;

/** How long another limiter may take to say what an account has used, in milliseconds. */
const ADMIN_MS_MAX = 3_000;

/**
 * A limiter process: meters behind gRPC, alone on memory or one of a cluster, and the admin port of
 * all accounts.
 */
export async function openLimiter(config: Config, stop: AbortSignal): Promise<Opened> {
  return await openNodeProcess(config, stop, {
    service: 'limiter',
    listen: 'SERVICE_LIMITER_LISTEN',
    advertise: 'SERVICE_LIMITER_ADVERTISE',
    async alone(foundation, stores) {
      const limiter = await limiterAlone(config, foundation, stores, undefined);
      const service = wireServiceOf(foundation, limiter.client);
      return { service, actors: limiter, node: undefined, administration: limiter };
    },
    async member(foundation, parts) {
      const node = await limiterNodeOf(config, foundation, parts);
      const service = wireServiceOf(foundation, node);
      return { service, actors: node, node, administration: node };
    },
  });
}

/** A limiter of a cluster that has not joined. Rejects as `nodeConfigOf`. */
export async function limiterNodeOf(
  config: Config,
  foundation: Foundation,
  { stores, bus, clocks }: ClusterParts,
): Promise<LimiterNode> {
  const { clock, randomness, metrics, onBug, tracer } = foundation;
  const audit = auditTrailOf(foundation, stores.audit);
  const { accounts, meters, keyUses } = stores;
  const place = await nodeConfigOf('limiter', config, foundation, stores);
  const { prefix, cluster } = place;
  const accountNews = busAccountNews({ bus, prefix, cluster });
  // The desk changes plans through the node that it is a part of.
  const admin = { setPlan: (...plan: SetPlan) => node.admin.setPlan(...plan) };
  const billingDesk = await openBillingDesk(config, foundation, { stores, admin, audit });
  const call = { timeoutMs: ADMIN_MS_MAX, clock, tls: foundation.tls() };
  const node: LimiterNode = new LimiterNode(
    { node: place, limiter: limiterConfigOf(config, foundation) },
    {
      limiter: {
        accounts,
        meters,
        audit,
        keyUses,
        dirtyFlag: stores.dirtyFlag,
        billingDesk,
        accountNews,
        clock,
        randomness,
        metrics,
        onBug,
        tracer,
      },
      node: nodePortsOf('limiter', foundation, { stores, bus, clocks }),
      adminAt: (address) => adminClient(address, call),
    },
  );
  showShards(place, metrics, node);
  return node;
}

/** A limiter on memory, the only one. Rejects with `ConfigError` as `openBillingDesk`. */
export async function limiterAlone(
  config: Config,
  foundation: Foundation,
  stores: LocalStores,
  accountNews: AccountNews | undefined,
): Promise<Limiter> {
  const { accounts, meters, keyUses, meterJournal: journal, audit: store } = stores;
  const { clock, randomness, metrics, onBug, tracer } = foundation;
  const audit = auditTrailOf(foundation, store);
  const admin = { setPlan: (...plan: SetPlan) => limiter.admin.setPlan(...plan) };
  const billingDesk = await openBillingDesk(config, foundation, { stores, admin, audit });
  const process = { clock, randomness, metrics, onBug, tracer };
  const ports = { accounts, meters, audit, keyUses, billingDesk, accountNews, ...process, journal };
  const limiter: Limiter = composeLimiter(limiterConfigOf(config, foundation), ports);
  return limiter;
}

/** The limiter's part of the configuration: an admission is as old as its edge would wait. */
function limiterConfigOf(config: Config, { actors }: Foundation): LimiterConfig {
  const { idleAgeMs, memoryBytesMax } = actors;
  return { idleAgeMs, memoryBytesMax, admitAgeMs: config.SERVICE_LIMITER_TIMEOUT_MS };
}

function wireServiceOf(
  { metrics, onBug: reportBug, tracer }: Foundation,
  limiter: LimiterClient,
): WireService {
  const frames = metrics.histogram('limiter_frame_messages').labels({});
  const observer = serverObserver(metrics, 'limiter', (count) => frames.observe(count));
  return frameService(limiterProtocol, limiter, { reportBug, observer, tracer });
}

const DAY_MS = 86_400_000;

/** What billing takes from its process, which is a limiter or standalone. */
type BillingFoundation = {
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

/** The audit trails as this process writes them; lines that could not be made durable are counted. */
export function auditTrailOf({ clock, metrics }: Foundation, store: AuditStore): AuditTrail {
  const failures = metrics.counter('audit_failures_total');
  return new AuditTrail({ store, clock, onFailure: () => failures.inc() });
}
