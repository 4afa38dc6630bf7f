import { openMigratedKeyspace } from '#test/storage/cassandra/migrated-keyspace';
import {
  type Cluster,
  type ClusterParts,
  type ClusterPlace,
  startCluster,
} from '#test/support/servers/cluster';

/** A cluster with its keyspace, whose name is also the prefix of its NATS subjects. */
export type OwnCluster = Cluster & { readonly keyspace: string };

/** Starts a cluster in its own keyspace, dropped with the cluster. */
export async function startOwnCluster(
  servers: Omit<ClusterPlace, 'keyspace'>,
  engineNames: readonly string[],
  parts?: ClusterParts,
): Promise<OwnCluster> {
  await using opening = new AsyncDisposableStack();
  const { name: keyspace } = opening.use(await openMigratedKeyspace(servers.cassandra));
  const cluster = opening.use(await startCluster({ ...servers, keyspace }, engineNames, parts));
  const opened = opening.move();
  return { ...cluster, keyspace, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}
