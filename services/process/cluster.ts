import { once } from 'node:events';
import type { Bus } from '#bus/bus';
import { decodeHeartbeat, heartbeatSubject } from '#cluster/heartbeat';
import { Members } from '#cluster/members';
import { RoutingTable } from '#cluster/routing-table';
import { shardOf } from '#cluster/shard-of';
import type { Config } from '#config';
import type { Foundation } from '#process/foundation';
import { clientObserver } from '#process/rpc-metrics';
import type { EnginePeer } from '#routing/engine-peer';
import { type RetryReason, RoutedEngine } from '#routing/routed-engine';
import { connectEngine } from '#wire/engine-connection';

/** How long an operator is not told that nobody is heard, in milliseconds: a start takes less. */
const PATIENCE_MS = 2_000;

/** What every process of a cluster must agree on. */
export type ClusterFacts = { readonly cluster: string; readonly shardCount: number };

/**
 * What the first engine that is heard says of its cluster: whoever only routes calls has no other
 * way to know. Rejects when `signal` aborts; says after 2 s what it waits for.
 */
export async function heardFacts(
  config: Config,
  { clock }: Foundation,
  bus: Bus,
  signal: AbortSignal,
): Promise<ClusterFacts> {
  const { promise, resolve } = Promise.withResolvers<ClusterFacts>();
  using _heard = bus.subscribe(heartbeatSubject(config.SERVICE_NATS_PREFIX, 'engine'), (bytes) => {
    const heartbeat = decodeHeartbeat(bytes);
    if (heartbeat !== undefined) resolve(heartbeat);
  });
  using _told = clock.after(PATIENCE_MS, () => {
    const where = config.SERVICE_NATS_URL?.join(',') ?? 'this process';
    process.stderr.write(`waiting for an engine to be heard on ${where}\n`);
  });
  const given = signal.aborted ? Promise.resolve([]) : once(signal, 'abort');
  const first = await Promise.race([promise, given]);
  signal.throwIfAborted();
  return first as ClusterFacts;
}

/**
 * All engines of a cluster as one, for a process that is none of them: it watches who owns what.
 * `connect` opens the way to one of them.
 */
export function watchedEngines(
  config: Config,
  foundation: Foundation,
  bus: Bus,
  facts: ClusterFacts,
  connect: (address: string) => EnginePeer,
): RoutedEngine & { readonly routes: RoutingTable } {
  const { clock, logger } = foundation;
  const { cluster, shardCount } = facts;
  const members = new Members({
    bus,
    clock,
    cluster,
    prefix: config.SERVICE_NATS_PREFIX,
    service: 'engine',
    self: undefined,
    onForeignCluster: (stranger) => logger.error({ stranger: stranger.cluster }, FOREIGN),
  });
  const routes = new RoutingTable({ members, shardCount });
  const engines = new RoutedEngine({
    routes,
    shardCount,
    shardOf: (id) => shardOf(id, shardCount),
    connect,
    clock,
    random: Math.random,
    onRetry: retryCounter(foundation),
  });
  return Object.assign(engines, { routes });
}

/** What an operator reads when two clusters share subjects. */
export const FOREIGN =
  'another cluster speaks under our NATS subjects and is ignored: give one of them another SERVICE_NATS_PREFIX';

/** Connects to engines at their addresses. */
export function engineConnector({ metrics }: Foundation): (address: string) => EnginePeer {
  const observeCall = clientObserver(metrics, 'engine');
  return (address) => connectEngine({ address, observeCall });
}

/** Counts further tries, by what made them necessary. */
export function retryCounter({ metrics }: Foundation): (reason: RetryReason) => void {
  const retries = metrics.counter('edge_retries_total');
  return (reason) => retries.labels({ reason }).inc();
}
