import type { Bus } from '#bus/bus';
import {
  aloneReporter,
  type ClusterReporter,
  ClusterWatch,
  type WatchPorts,
} from '#cluster-status/watch';
import type { Config } from '#config';
import { type BuiltPages, readBuiltPages } from '#console/app/pages';
import { safetyHeaders } from '#console/app/refusal';
import { adminClient } from '#grpc/admin';
import type { ClusterOverview, PageFile } from '#limiter/admin/routes';
import type { Foundation } from '#startup/process/dependencies';
import type { SharedStores } from '#startup/stores/store-set';
import { releaseOf } from '#stdlib/release';

/**
 * Timeout of a node's load report, in milliseconds. Also limits a cluster report, because all nodes
 * report at the same time.
 */
const LOAD_MS_MAX = 800;

/** Cluster overview, which watches the cluster until disposed. */
export type OpenOverview = Disposable & ClusterOverview;

/**
 * Opens the overview of a process with in-memory storage. `loads` returns the load of each service.
 */
export async function overviewOfAlone(
  { clock }: Foundation,
  loads: Parameters<typeof aloneReporter>[2],
): Promise<OpenOverview> {
  return await overviewBy(aloneReporter(clock, releaseOf(), loads));
}

/**
 * Opens the overview of a cluster from one of its processes. A process that runs all nodes itself
 * passes `readLoad`; by default, the overview asks the nodes.
 */
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

/** Text shown if the page is not built. */
const NOT_BUILT = 'The page of the cluster is not built: run `npm run build:console`.\n';

/**
 * Safety headers of the page, without the header for HTTPS, because the admin port does not use TLS.
 */
const HEADERS = safetyHeaders(false);

const ASSET = /^\/cluster\/assets\/([\w.-]+)$/;

/**
 * Files of the built cluster page, with the console's safety headers, which also disable caching.
 * Without a build, returns a text with the build command.
 */
export function clusterPage(pages: BuiltPages | undefined): ClusterOverview['file'] {
  return (path): PageFile | undefined => {
    const asset = ASSET.exec(path)?.[1];
    if (asset === undefined && path !== '/cluster') return undefined;
    if (pages === undefined) {
      return {
        headers: { ...HEADERS, 'content-type': 'text/plain; charset=utf-8' },
        body: NOT_BUILT,
      };
    }
    const file = asset === undefined ? pages.document : pages.assets.get(asset);
    if (file === undefined) return undefined;
    return { headers: { ...HEADERS, 'content-type': file.type }, body: file.plain };
  };
}
