import type { LightLoad } from '#test/observe/light-load';
import type { WatchedCluster } from '#test/observe/watched-cluster';

/** A fault, and the expected alerts. */
export type Rehearsal = {
  readonly alerts: readonly string[];
  /** Short description of the fault. */
  readonly fault: string;
  /** Required number of Cassandra nodes; default any. */
  readonly cassandraNodes?: number;
  /** Injects the fault; resolves to a function that removes it. */
  readonly provoke: (cluster: WatchedCluster, load: LightLoad) => Promise<() => Promise<void>>;
};

/** Pauses processes; returns a function that resumes them. */
export function paused(cluster: WatchedCluster, names: readonly string[]): () => Promise<void> {
  for (const name of names) cluster.signal(name, 'SIGSTOP');
  return async () => {
    for (const name of names) cluster.signal(name, 'SIGCONT');
  };
}
