import { join } from 'node:path';
import { clusterPlan } from '#deploy/local/cluster-plan';
import { type LocalCluster, openLocalCluster } from '#deploy/local/local-cluster';
import { lastLine } from '#deploy/local/processes/run-program';
import { runMigrate } from '#deploy/local/processes/service-process';
import { type BackedNodes, openBackedNodes, type Place } from '#test/restore/backed-nodes';

/** A minimal cluster on Cassandra nodes with archived commit logs. */
export type BackedCluster = AsyncDisposable & {
  readonly cluster: LocalCluster;
  readonly nodes: BackedNodes;
  /** Start time of the first process. */
  readonly beganMs: number;
  /** Kills every process including Cassandra; resolves when all have ended. */
  readonly killAll: () => Promise<void>;
};

/** Starts the cluster. With `restores`, on the data in its folders, with commit log replay. */
export async function openBackedCluster(
  place: Place,
  life: number,
  restores: boolean,
): Promise<BackedCluster> {
  const { folder, ports, print } = place;
  const beganMs = Date.now();
  let isKilled = false;
  await using opening = new AsyncDisposableStack();
  const nodes = opening.use(await openBackedNodes(place, life, restores));
  // Ignore messages about processes killed on purpose.
  const said = (line: string) => void (isKilled || print(line));
  const size = { engines: 1, limiters: 1, edges: 1, consoles: 0, shards: 16 };
  const options = { ...size, folder: join(folder, 'cluster'), ports, cassandra: nodes.address };
  // The plan assumes a single node for a given Cassandra address.
  const copies = { SERVICE_CASSANDRA_REPLICATION_FACTOR: `${place.nodes}` };
  const { isOk, output } = await runMigrate({ ...clusterPlan(options).shared, ...copies });
  if (!isOk) throw new Error(`no tables: ${lastLine(output)}`);
  const cluster = opening.use(await openLocalCluster({ ...options, print: said }));
  const opened = opening.move();
  return {
    cluster,
    nodes,
    beganMs,
    async killAll() {
      isKilled = true;
      for (const name of cluster.names) cluster.signal(name, 'SIGKILL');
      nodes.kill();
      await cluster[Symbol.asyncDispose]();
      await nodes.ended();
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}
