import type { AccountNews } from '#accounts/account-news';
import type { Config } from '#config';
import type { AccountAdmin } from '#limiter/account-admin';
import { composeLimiter, type Limiter } from '#limiter/compose';
import type { LimiterConfig } from '#limiter/limiter-actors';
import { LimiterNode } from '#limiter/limiter-node';
import { auditTrailOf } from '#process/audit-trail-of';
import { openBillingDesk } from '#process/billing';
import { busAccountNews } from '#process/bus-account-news';
import type { Foundation } from '#process/foundation';
import { type ClusterParts, nodeConfigOf, nodePortsOf, showShards } from '#process/membership';
import { openNodeProcess } from '#process/node-process';
import type { Opened } from '#process/process-life';
import { serverObserver } from '#process/rpc-metrics';
import type { LocalStores } from '#process/stores';
import { adminClient } from '#wire/admin-client';
import { frameService } from '#wire/frame-service';
import { limiterProtocol } from '#wire/limiter-codec';
import type { LimiterClient } from '#wire/limiter-messages';
import type { WireService } from '#wire/wire-service';

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
