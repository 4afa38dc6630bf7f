import type { AccountNews } from '#accounts/account';
import type { AuditTrail } from '#audit/trail';
import { type BillingDesk, type BillingDeskPorts, billingDesk } from '#billing/billing-desk';
import type { BillingProvider } from '#billing/provider';
import { type Config, ConfigError } from '#config';
import { adminClient } from '#grpc/admin';
import { frameService } from '#grpc/frame-server';
import type { WireService } from '#grpc/grpc-server';
import { limiterProtocol } from '#grpc/limiter-codec';
import type { LimiterClient } from '#grpc/limiter-messages';
import type { LimiterConfig } from '#limiter/actors';
import type { AccountAdmin } from '#limiter/admin/accounts';
import { composeLimiter, type Limiter, LimiterNode } from '#limiter/limiter-node';
import { auditTrailOf } from '#startup/audit-trail';
import { busAccountNews, serverObserver } from '#startup/cluster';
import {
  type ClusterParts,
  nodeConfigOf,
  nodePortsOf,
  openNodeProcess,
  showShards,
} from '#startup/node';
import { openBillingProvider } from '#startup/ports';
import type { Foundation } from '#startup/process/dependencies';
import type { Opened } from '#startup/process/lifetime';
import { type CredentialFiles, secretOf } from '#startup/process/secrets';
import type { LocalStores } from '#startup/stores/store-set';
import type { Clock } from '#stdlib/clock';
import type { AccountStore } from '#storage/ports/accounts';
import type { BillingStore } from '#storage/ports/billing';

type SetPlan = Parameters<AccountAdmin['setPlan']>;

/** Timeout of another limiter's usage report, in milliseconds. */
const ADMIN_MS_MAX = 3_000;

/**
 * Opens a limiter process: meters behind gRPC, and the admin port for all accounts. With in-memory
 * storage the limiter is alone, otherwise it is a node of a cluster.
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

/** Creates a limiter node that has not joined its cluster. Rejects as `nodeConfigOf`. */
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
  // The billing desk changes plans through the node that contains the desk.
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

/**
 * Creates the only limiter on in-memory storage. Rejects with `ConfigError` as `openBillingDesk`.
 */
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

/**
 * Limiter configuration. The maximum age of an admission is the timeout of an edge for the limiter.
 */
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

/** Dependencies of billing in a limiter process or a standalone process. */
type BillingFoundation = {
  readonly clock: Clock;
  readonly credentials: CredentialFiles;
  /** Role of the process. */
  readonly service: string;
};

/** Stores and administration through which billing changes plans. */
type BillingParts = {
  readonly stores: { readonly accounts: AccountStore; readonly billing: BillingStore };
  readonly admin: Pick<AccountAdmin, 'setPlan'>;
  readonly audit: AuditTrail;
};

/**
 * Opens the billing desk. Rejects with `ConfigError` if the configuration of the provider is
 * incomplete.
 */
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

/**
 * Returns a function that executes a plan change between two entries in the account's audit trail.
 */
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
  throw new ConfigError(`${variable} is not set: SERVICE_BILLING_PROVIDER=${kind} needs the value`);
}
