import { join } from 'node:path';
import { clusterPlan } from '#deploy/local/cluster-plan';
import { type LocalCluster, openLocalCluster } from '#deploy/local/local-cluster';
import { lastLine } from '#deploy/local/processes/run-program';
import { runMigrate } from '#deploy/local/processes/service-process';
import { type BackedNodes, openBackedNodes, type Place } from '#test/restore/backed-nodes';

/** A minimal cluster with Cassandra nodes that archive their commit logs. */
export type BackedCluster = AsyncDisposable & {
  readonly cluster: LocalCluster;
  readonly nodes: BackedNodes;
  /** Start time of the first process. */
  readonly beganMs: number;
  /** Kills all processes, including Cassandra. Resolves when all processes have ended. */
  readonly killAll: () => Promise<void>;
};

/** Starts the cluster. With `restores`, uses the data in its folders and replays commit logs. */
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
  // After `killAll`, messages about killed processes are expected.
  const said = (line: string) => void (isKilled || print(line));
  const size = { engines: 1, limiters: 1, edges: 1, consoles: 0, shards: 16 };
  const options = { ...size, folder: join(folder, 'cluster'), ports, cassandra: nodes.address };
  // The plan assumes a single Cassandra node behind a given address.
  const copies = { SERVICE_CASSANDRA_REPLICATION_FACTOR: `${place.nodes}` };
  const { isOk, output } = await runMigrate({ ...clusterPlan(options).shared, ...copies });
  if (!isOk) throw new Error(`the migration failed: ${lastLine(output)}`);
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
