import type { Bus } from '#bus/bus';
import type { Config } from '#config';
import { readBuiltPages } from '#console/built-pages';
import type { ClusterOverview } from '#limiter/cluster-routes';
import { aloneReporter, type ClusterReporter, ClusterWatch } from '#overview/cluster-watch';
import type { WatchPorts } from '#overview/watched-service';
import { releaseOf } from '#platform/release';
import { clusterPage } from '#process/cluster-page';
import type { Foundation } from '#process/foundation';
import type { SharedStores } from '#process/stores';
import { adminClient } from '#wire/admin-client';

/** How long a node may take to say what it holds, in milliseconds: a report waits no longer. */
const LOAD_MS_MAX = 800;

/** An overview and what it watches with, until disposed. */
export type OpenOverview = Disposable & ClusterOverview;

/** The overview of a process on memory; `loads` says what it holds. */
export async function overviewOfAlone(
  { clock }: Foundation,
  loads: Parameters<typeof aloneReporter>[2],
): Promise<OpenOverview> {
  return await overviewBy(aloneReporter(clock, releaseOf(), loads));
}

/** The overview of a cluster from one of its processes; `readLoad` is for one that has all nodes itself. */
export async function overviewOfCluster(
  { SERVICE_NATS_PREFIX: prefix }: Config,
  { clock, tls }: Foundation,
  { shards, journals }: SharedStores,
  bus: Bus,
  readLoad?: WatchPorts['readLoad'],
): Promise<OpenOverview> {
  const call = { timeoutMs: LOAD_MS_MAX, clock, tls: tls() };
  const ask: WatchPorts['readLoad'] = (_, address) => adminClient(address, call).readLoad();
  const ports = { clock, prefix, bus, shards, journals, release: releaseOf() };
  return await overviewBy(new ClusterWatch({ ...ports, readLoad: readLoad ?? ask }));
}

async function overviewBy(reporter: ClusterReporter): Promise<OpenOverview> {
  const file = clusterPage(await readBuiltPages('cluster'));
  return {
    report: () => reporter.report(),
    file,
    [Symbol.dispose]: () => reporter[Symbol.dispose](),
  };
}
