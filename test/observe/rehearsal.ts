import type { LightLoad } from '#test/observe/light-load';
import type { WatchedCluster } from '#test/observe/watched-cluster';

/** A fault and the alerts that it must raise. */
export type Rehearsal = {
  readonly alerts: readonly string[];
  /** Description of the fault. */
  readonly fault: string;
  /** Required number of Cassandra nodes; default any. */
  readonly cassandraNodes?: number;
  /** Injects the fault. Resolves to a function that ends the fault. */
  readonly provoke: (cluster: WatchedCluster, load: LightLoad) => Promise<() => Promise<void>>;
};

/** Pauses processes. Returns a function that resumes the processes. */
export function paused(cluster: WatchedCluster, names: readonly string[]): () => Promise<void> {
  for (const name of names) cluster.signal(name, 'SIGSTOP');
  return async () => {
    for (const name of names) cluster.signal(name, 'SIGCONT');
  };
}
