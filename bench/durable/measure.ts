import assert from 'node:assert/strict';
import { join } from 'node:path';
import {
  type DurableComparison,
  type DurableEntrant,
  isOnCassandra,
  type OnCassandra,
} from '#bench/durable/comparisons';
import { diskBytes } from '#bench/durable/disk-bytes';
import { type DurableSizes, runDurableRounds } from '#bench/durable/rounds';
import { type DurableStores, startDurable } from '#bench/durable/service';
import type { CapturedAnswer } from '#bench/load/capture-answer';
import { captureAnswer } from '#bench/load/capture-answer';
import type { Round } from '#bench/load/closed-rounds';
import { readCycleCount } from '#bench/measures/cycle-count';
import { checkLedger } from '#bench/measures/ledger';
import { checkReplay } from '#bench/measures/replay';
import type { Run } from '#bench/page/part';
import { fileBytes, startOnFile } from '#bench/processes/file-service';
import { type Label, prepareService, type Server, startReference } from '#bench/processes/servers';
import { type Service, startStandalone } from '#bench/processes/service';
import { temporaryFolder } from '#bench/processes/temporary-folder';
import { findWrk } from '#bench/processes/tool-path';
import { startReferenceOn } from '#bench/references/start-reference';
import { startCassandra } from '#deploy/local/servers/cassandra-server';
import { startNats } from '#deploy/local/servers/nats-server';

/** Disk usage of one service's observations. */
export type DiskUse = {
  /** Labels of this service's runs, with and without idempotency keys. */
  readonly labels: readonly string[];
  readonly observations: number;
  /** Number of observations with an idempotency key. */
  readonly keyed: number;
  readonly bytesByTable: ReadonlyMap<string, number>;
};

/** Results of a comparison. */
export type DurableFindings = {
  readonly rounds: readonly Round[];
  readonly disk: readonly DiskUse[];
};

/** Parameters for starting the servers of a comparison. */
type Bench = {
  /** Names of the servers to measure; undefined for all. */
  readonly wanted: ReadonlySet<string> | undefined;
  /** Folder for the observation plans of all servers. */
  readonly folder: string;
  readonly instanceCount: number;
  readonly print: (line: string) => void;
};

/**
 * A running durable service. After the service has ended, `readBytes` returns the disk usage of its
 * tables in bytes.
 */
type StartedStore = {
  readonly service: Service;
  readonly readBytes: () => Promise<ReadonlyMap<string, number>>;
};

/** Servers of a durable service, one per label. */
type Started = Pick<StartedStore, 'readBytes'> & { readonly servers: readonly Server[] };

/** Cassandra server of a comparison, and the data folder of the server. */
type Cassandra = Pick<DurableStores, 'cassandra'> & { readonly dataFolder: string };

/**
 * Measures durable services and references. Starts the services on Cassandra and the references on
 * PostgreSQL, loads all in turns, and compares stored state with answers at the end.
 */
export async function measureDurable(
  comparison: DurableComparison,
  sizes: DurableSizes,
  { servers: wanted, print }: Pick<Run, 'servers' | 'print'>,
): Promise<DurableFindings> {
  const instanceCount = Math.min(comparison.instanceCount, sizes.instancesMax);
  const bench = { wanted, folder: temporaryFolder(), instanceCount, print };
  await using stores = new AsyncDisposableStack();
  await using opened = new AsyncDisposableStack();
  const cassandra = isOnCassandra(comparison) ? await startStore(stores, bench) : undefined;
  const started: Started[] = [];
  for (const entrant of comparison.services) {
    started.push(await startEntrant(opened, cassandra, bench, entrant));
  }
  const servers = started.flatMap((service) => service.servers);
  servers.push(...(await startReferences(opened, cassandra, bench, comparison)));
  const rounds = await runDurableRounds(await findWrk(), { servers, sizes, print });
  for (const server of servers) if (server.isKeyed === true) await checkReplay(server);
  print('comparing stored state with answers');
  // Servers with the same plan share instances: check the first server.
  const plans = Map.groupBy(servers, ({ plan }) => plan);
  for (const [server] of plans.values()) if (server !== undefined) await checkLedger(server);
  const counts = await Promise.all(started.map(countsOf));
  if (!sizes.isDiskMeasured || !comparison.isDiskMeasured) return { rounds, disk: [] };
  // Stop the service first: a running service keeps writing to its journal.
  await opened.disposeAsync();
  const disk: DiskUse[] = [];
  for (const { readBytes, ...count } of counts) {
    print(`${count.labels.join(', ')}: measuring disk usage of the tables`);
    disk.push({ ...count, bytesByTable: await readBytes() });
  }
  return { rounds, disk };
}

async function startStore(
  opening: AsyncDisposableStack,
  { print }: Pick<Bench, 'print'>,
): Promise<Cassandra> {
  print('starting Cassandra');
  const logFolder = temporaryFolder();
  const folder = join(logFolder, 'cassandra');
  const cassandra = opening.use(await startCassandra({ folder, logFolder, print }));
  return { cassandra, dataFolder: join(folder, 'state', 'data') };
}

/** Starts a service and creates its instances. Returns one server per selected label. */
async function startEntrant(
  opening: AsyncDisposableStack,
  cassandra: Cassandra | undefined,
  bench: Bench,
  { label, keyedLabel, store }: DurableEntrant,
): Promise<Started> {
  const { folder, instanceCount, print } = bench;
  print(`${label}: starting the service`);
  const { service, readBytes } =
    store === 'sqlite'
      ? await startedOnFile(opening)
      : await startedOnCassandra(opening, cassandra, bench, store);
  const prepared = await prepareService(label, service, folder, { instanceCount, print });
  const server = { ...prepared, isCheckpointing: true };
  return { servers: labelled(server, label, keyedLabel, bench), readBytes };
}

async function startedOnFile(opening: AsyncDisposableStack): Promise<StartedStore> {
  const file = join(temporaryFolder(), 'service.db');
  const service = opening.use(await startOnFile(file));
  return { service, readBytes: async () => fileBytes(file) };
}

/** Starts a service on Cassandra with a new NATS. */
async function startedOnCassandra(
  opening: AsyncDisposableStack,
  stores: Cassandra | undefined,
  { print }: Bench,
  { engines = 1, keyspace }: OnCassandra,
): Promise<StartedStore> {
  assert(stores !== undefined, 'Cassandra must be started before a service on Cassandra');
  const { cassandra, dataFolder } = stores;
  const logFolder = temporaryFolder();
  const nats = opening.use(await startNats({ folder: join(logFolder, 'nats'), logFolder, print }));
  const plan = { engines, folder: logFolder, stores: { cassandra, nats }, keyspace, print };
  const service = opening.use(await startDurable(plan));
  const { address } = cassandra;
  return { service, readBytes: () => diskBytes({ address, dataFolder, keyspace }) };
}

async function startReferences(
  opening: AsyncDisposableStack,
  cassandra: Cassandra | undefined,
  bench: Bench,
  { references, isWithStateless }: DurableComparison,
): Promise<Server[]> {
  const { folder, instanceCount, print } = bench;
  const servers: Server[] = [];
  const stores = { cassandra: cassandra?.cassandra, opening };
  for (const { label, keyedLabel } of references) {
    print(`${label}: starting the reference with ${instanceCount} instances`);
    const server = await startReferenceOn(stores, label, { folder, instanceCount, print });
    servers.push(...labelled(server, label, keyedLabel, bench));
  }
  if (isWithStateless) {
    const { file: answerFile } = await answerOfStandalone(folder);
    servers.push(opening.use(await startReference({ folder, answerFile }, instanceCount)));
  }
  return servers;
}

/** The server under each wanted label, with and without idempotency keys. */
function labelled(
  server: Server,
  label: Label,
  keyedLabel: Label | undefined,
  { wanted }: Pick<Bench, 'wanted'>,
): Server[] {
  const isWanted = (name: Label) => wanted?.has(name) ?? true;
  const isKeyed = keyedLabel !== undefined && isWanted(keyedLabel);
  return [
    ...(isWanted(label) ? [server] : []),
    ...(isKeyed ? [{ ...server, label: keyedLabel, isKeyed }] : []),
  ];
}

/** Counts a service's observations from the service's metrics. */
async function countsOf({ servers, readBytes }: Started) {
  const [server] = servers;
  const { advanced } = await readCycleCount(server?.service?.metricsUrls ?? []);
  const labels = servers.map(({ label }) => label);
  return { labels, readBytes, observations: advanced, keyed: server?.plan.keyedAnswers ?? 0 };
}

/** Captures the answer that reference (c) sends, because (c) has no model. */
async function answerOfStandalone(folder: string): Promise<CapturedAnswer> {
  await using service = await startStandalone();
  const server = await prepareService('s', service, folder, { instanceCount: 1 });
  return await captureAnswer(server, folder);
}
