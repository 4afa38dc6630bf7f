import type { Bus } from '#bus/bus';
import type { Config } from '#config';
import { type BuiltPages, readBuiltPages } from '#console/built-pages';
import { safetyHeaders } from '#console/safety-headers';
import type { ClusterOverview, PageFile } from '#limiter/cluster-routes';
import { aloneReporter, type ClusterReporter, ClusterWatch } from '#overview/cluster-watch';
import type { WatchPorts } from '#overview/watched-service';
import type { Foundation } from '#process/foundation';
import type { SharedStores } from '#process/ports';
import { releaseOf } from '#process/release';
import { adminClient } from '#wire/admin-client';

/** How long a node may take to say what it holds, in milliseconds: a report waits no longer. */
const LOAD_MS_MAX = 800;

/** What a browser shows where the page is not built. */
const NOT_BUILT = 'The page of the cluster is not built: run `npm run build:console`.\n';

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
  const pages = await readBuiltPages('cluster');
  return {
    report: () => reporter.report(),
    file: (path) => fileAt(pages, path),
    [Symbol.dispose]: () => reporter[Symbol.dispose](),
  };
}

function fileAt(pages: BuiltPages | undefined, path: string): PageFile | undefined {
  const headers = safetyHeaders(false);
  const asset = /^\/cluster\/assets\/([\w.-]+)$/.exec(path)?.[1];
  if (asset === undefined && path !== '/cluster') return undefined;
  if (pages === undefined) {
    const type = 'text/plain; charset=utf-8';
    return { headers: { ...headers, 'content-type': type }, body: NOT_BUILT };
  }
  const file = asset === undefined ? pages.document : pages.assets.get(asset);
  if (file === undefined) return undefined;
  return { headers: { ...headers, 'content-type': file.type }, body: file.plain };
}
