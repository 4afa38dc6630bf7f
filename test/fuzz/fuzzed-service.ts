import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startCassandra } from '#deploy/local/servers/cassandra-server';
import { startNats } from '#deploy/local/servers/nats-server';
import { MEASURABLE, type MeasuredProcesses } from '#test/fuzz/memory';
import { openMigratedKeyspace } from '#test/storage/cassandra/migrated-keyspace';
import { addressIn } from '#test/support/process-run';
import { startCluster } from '#test/support/servers/cluster';
import type { Service } from '#test/support/servers/service';

/** A service with measurable processes. */
export type FuzzedService = Service & MeasuredProcesses;

/**
 * Starts Cassandra, NATS, and an edge, an engine and a limiter as separate processes, for at most
 * `msMax`.
 */
export async function startFuzzedService(
  msMax: number,
  print: (line: string) => void,
): Promise<FuzzedService> {
  await using opening = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'identity-engine-fuzz-'));
  opening.defer(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));
  const place = (name: string) => ({ folder: join(folder, name), logFolder: join(folder, 'logs') });
  const nats = await startNats({ ...place('nats'), print });
  opening.defer(() => nats.stop());
  const cassandra = await startCassandra({ ...place('cassandra'), isThrownAway: true, print });
  opening.defer(async () => {
    cassandra.signal('SIGKILL');
    await cassandra.ended;
  });
  const keyspace = opening.use(await openMigratedKeyspace(cassandra.address));
  const where = { cassandra: cassandra.address, keyspace: keyspace.name, nats: nats.address };
  const variables = { ...MEASURABLE, SERVICE_SHARDS: '8', SERVICE_DOCS_ENABLED: 'true' };
  const parts = { limiters: ['limiter'], variables, runMsMax: msMax };
  const cluster = opening.use(await startCluster(where, ['engine'], parts));
  const runs = [...cluster.limiters, ...cluster.engines, ['edge', cluster.edge] as const];
  const { api, adminUrl } = cluster.service();
  const metricsUrls = runs.map(([name, run]) => [name, addressIn(run, 'metrics')] as const);
  const opened = opening.move();
  return {
    origin: new URL(api).origin,
    api,
    adminUrl,
    metricsUrl: addressIn(cluster.edge, 'metrics'),
    metricsUrls: new Map(metricsUrls),
    processes: new Map(runs.map(([name, { child }]) => [name, child])),
    log: () => runs.map(([, run]) => run.stderr()).join(''),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}
