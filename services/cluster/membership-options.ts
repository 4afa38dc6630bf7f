import type { Bus } from '#bus/bus';
import type { Heartbeat, ShardAnnouncement } from '#cluster/heartbeat';
import type { Clock } from '#platform/clock';
import type { JournalStore } from '#storage/journal-store';
import type { ShardedService } from '#storage/shard-store';

/** What a process says of itself; the rest of its heartbeat is known here. */
export type SelfReport = Omit<Heartbeat, 'cluster' | 'service' | 'viewHash'>;

/** Whose view, of whom. */
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
  /** Whether the shards that members serve are kept: for tools, which look for a moment only. */
  readonly keepsShards?: boolean;
  /** Told at most once in 30 s that another cluster speaks under the same prefix. */
  readonly onForeignCluster: (stranger: Heartbeat | ShardAnnouncement) => void;
  /** Told at most once in 30 s that one process speaks for an incarnation of another. */
  readonly onImpostor?: (forged: Heartbeat) => void;
};
