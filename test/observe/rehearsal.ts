import type { LightLoad } from '#test/observe/light-load';
import type { WatchedCluster } from '#test/observe/watched-cluster';

/** A fault, and the alerts that it must raise. */
export type Rehearsal = {
  readonly alerts: readonly string[];
  /** What is done, in a few words. */
  readonly fault: string;
  /** How many Cassandra nodes the cluster must have; any number unless given. */
  readonly cassandraNodes?: number;
  /** Does it, and fulfils with what undoes it. */
  readonly provoke: (cluster: WatchedCluster, load: LightLoad) => Promise<() => Promise<void>>;
};

/** Pauses processes; what is returned resumes them. */
export function paused(cluster: WatchedCluster, names: readonly string[]): () => Promise<void> {
  for (const name of names) cluster.signal(name, 'SIGSTOP');
  return async () => {
    for (const name of names) cluster.signal(name, 'SIGCONT');
  };
}
