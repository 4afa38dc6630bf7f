import type { Browser, BrowserContextOptions } from 'playwright-core';
import type { ClusterReport, NodeReport, ServiceReport } from '#cluster-status/report';
import { readBuiltPages } from '#console/app/pages';
import { clusterPage } from '#startup/overview';
import { builtOnce } from '#test/console/pages/fakes/built-once';
import { openPage, type WatchedPage } from '#test/console/pages/fakes/pages-fixture';
import { adminUnderTest } from '#test/limiter/admin/admin-fixture';
import { ADMIN_TOKEN } from '#test/support/calls/admin-token';

export type OfCluster = Extract<ClusterReport, { kind: 'cluster' }>;

/** The cluster page on a real admin port, with a report that tests can change. */
export type ClusterDesk = AsyncDisposable & {
  readonly origin: string;
  report: ClusterReport;
  /** Number of requested reports. */
  readonly asked: () => number;
  /** Opens the page in a new browser profile. `isOpened` also enters the token. */
  readonly open: (wanted?: {
    readonly isOpened?: boolean;
    readonly options?: BrowserContextOptions;
  }) => Promise<WatchedPage>;
};

/** Serves the page. `browser` starts the browser when a page is opened. */
export async function openClusterDesk(browser: () => Promise<Browser>): Promise<ClusterDesk> {
  await using opening = new AsyncDisposableStack();
  const file = clusterPage(await readBuiltPages('cluster', await builtOnce()));
  let asked = 0;
  const report = async (): Promise<object> => {
    asked += 1;
    return desk.report;
  };
  const port = opening.use(await adminUnderTest({ cluster: { report, file } }));
  const opened = opening.move();
  const desk: ClusterDesk = {
    origin: port.address,
    report: clusterReport(),
    asked: () => asked,
    async open({ isOpened = true, options } = {}) {
      const at = { origin: port.address, path: '/cluster', cookies: [], options };
      const watched = await openPage(await browser(), at);
      if (!isOpened) return watched;
      await watched.page.getByLabel('Admin token').fill(ADMIN_TOKEN);
      await watched.page.getByRole('button', { name: 'Open' }).click();
      await watched.page.getByRole('button', { name: 'Pause' }).waitFor();
      return watched;
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
  return desk;
}

/** Report of two healthy engines and two healthy limiters, overridden by `change`. */
export function clusterReport(change: Partial<OfCluster> = {}): OfCluster {
  return {
    kind: 'cluster',
    at: '2026-01-15T12:00:00.000Z',
    release: '1.1.0',
    watched_s: 600,
    is_bus_connected: true,
    engine: { value: serviceReport([nodeReport('engine-1'), nodeReport('engine-2')], 64) },
    limiter: { value: serviceReport([nodeReport('limiter-1'), nodeReport('limiter-2')], 64) },
    ...change,
  };
}

/** Report of a service whose nodes serve all shards, overridden by `change`. */
export function serviceReport(
  nodes: readonly NodeReport[],
  shardCount: number,
  change: Partial<ServiceReport> = {},
): ServiceReport {
  // As on a real ring, adjacent shards rarely have the same owner.
  const owners = Array.from(
    { length: shardCount },
    (_, shard) => (shard * 7 + (shard >> 2)) % nodes.length,
  );
  const owned = (place: number) => owners.filter((owner) => owner === place).length;
  return {
    ...{ cluster: 'c1', shard_count: shardCount, table_age_s: 0.01, table_fault: null },
    nodes: nodes.map((node, place) => ({
      ...node,
      owns: owned(place),
      due: owned(place),
      serves: node.serves === null ? null : owned(place),
    })),
    owners,
    unserved: { unowned: 0, 'not heard': 0, moving: 0 },
    ...{ unserved_shards: [], move_count: 0, moves: [], strangers: [] },
    ...change,
  };
}

/** Report of a healthy node, overridden by `change`. */
export function nodeReport(name: string, change: Partial<NodeReport> = {}): NodeReport {
  return {
    node: name,
    incarnation: `${name}-0123456789abcdef`,
    address: `10.0.0.${name.at(-1)}:8100`,
    state: 'serving',
    release: '1.1.0',
    since: '2026-01-15T08:30:00.000Z',
    silent_s: 0.4,
    ...{ owns: 0, due: 0, serves: 0, agrees: true },
    journal: { value: { slots: 412, next: 98_412, is_sealed: false } },
    load: {
      value: {
        ...{ actors: 1_204, actor_bytes: 48 * 1_024 * 1_024, unstored_records: 318 },
        ...{ oldest_unstored_s: 3.2, calls_per_s: 214.4 },
      },
    },
    ...change,
  };
}

/** Report of an outage: one engine is dead, another is slow, and some shards have no owner. */
export function troubledReport(): OfCluster {
  const slow = {
    ...{ actors: 5_210, actor_bytes: 210 * 1_024 * 1_024, unstored_records: 1_204 },
    ...{ oldest_unstored_s: 312, calls_per_s: 488.1 },
  };
  const nodes = [
    nodeReport('engine-1'),
    nodeReport('engine-2', { load: { value: slow } }),
    nodeReport('engine-3', {
      ...{ state: 'not heard', silent_s: 14.2, serves: null, agrees: null, since: null },
      ...{ release: null, load: { not_known: 'it is not heard' } },
    }),
  ];
  const engine = serviceReport(nodes, 64);
  const lost = engine.owners.flatMap((owner, shard) => (owner === 2 ? [shard] : []));
  const [first = 0, second = 1] = lost;
  return clusterReport({
    engine: {
      value: {
        ...engine,
        owners: engine.owners.map((owner, shard) =>
          [first, second].includes(shard) ? null : owner,
        ),
        unserved: { unowned: 2, 'not heard': lost.length - 2, moving: 0 },
        unserved_shards: lost.map((shard, index) => ({
          ...{ shard, state: index < 2 ? 'unowned' : 'not heard', since_s: 12.3 },
          owner: index < 2 ? null : 2,
        })),
        move_count: 3,
        moves: [3, 8, 11].map((shard) => ({ shard, kind: 'waits', from: 0, to: 1, since_s: 4.1 })),
      },
    },
  });
}
