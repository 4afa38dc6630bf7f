import type { Bus } from '#bus/bus';
import type { Heartbeat, ShardAnnouncement } from '#cluster/heartbeat';
import type { Clock } from '#platform/clock';
import type { Logger } from '#platform/logger';
import type { JournalStore } from '#storage/journal-store';
import type { ShardedService } from '#storage/shard-store';

/** What a process reports of itself; the rest of its heartbeat is known here. */
export type SelfReport = Omit<Heartbeat, 'cluster' | 'service' | 'viewHash'>;

/** The process that has the view, and what it is a view of. */
export type MembershipOptions = {
  readonly bus: Bus;
  readonly clock: Clock;
  /** Id of the cluster; what comes from another one is not believed. */
  readonly cluster: string;
  /** First part of all subjects. */
  readonly prefix: string;
  readonly service: ShardedService;
  /** Undefined: this process watches the service and is none of it. */
  readonly self: (() => SelfReport) | undefined;
  /** Where every node has a journal: others are not present (decision 179). Undefined: not known here. */
  readonly journals?: Pick<JournalStore, 'readHead'> | undefined;
  /** Whether the shards that members serve are kept: for who looks on, and hears heartbeats alone. */
  readonly keepsShards?: boolean;
  /** Called at most once in 30 s when another cluster uses the same prefix. */
  readonly onForeignCluster: (stranger: Heartbeat | ShardAnnouncement) => void;
  /** Called at most once in 30 s when a process sends a heartbeat for an incarnation of another. */
  readonly onImpostor?: (forged: Heartbeat) => void;
};

/** Log lines about heartbeats that are not believed. */
export function strangerReports(
  logger: Logger,
): Required<Pick<MembershipOptions, 'onForeignCluster' | 'onImpostor'>> {
  return {
    onForeignCluster: ({ cluster }) =>
      logger.error(
        { cluster },
        'another cluster speaks under the same NATS subjects and is ignored: give one of them another SERVICE_NATS_PREFIX',
      ),
    onImpostor: ({ incarnation, node }) =>
      logger.error(
        { otherIncarnation: incarnation, otherNode: node },
        'a process speaks for another one and is ignored there: one that knows SERVICE_CLUSTER_SECRET is wrong or of another cluster',
      ),
  };
}
