import type { CommitLog } from '#actor-runtime/commit-log';
import type { ShardGate } from '#actor-runtime/host-ports';
import type { Bus } from '#bus/bus';
import type { ClockWatch } from '#cluster/clocks';
import type { Dial } from '#cluster/lifelines';
import type { ShardOwners } from '#cluster/shard-owners';
import type { ShardedHost } from '#shards/hosted-shards';
import type { NodeMetrics } from '#shards/journal-writer';
import type { ShardedService, ShardStore } from '#storage/ports/cluster';
import type { Journal, JournalStore } from '#storage/ports/journal';
import type { Logger } from '#telemetry/logger';
import type { ProcessPorts } from '#telemetry/process-ports';

/** Identity and settings of a node in its cluster. */
export type NodeConfig = {
  readonly service: ShardedService;
  /** Stable name under which the node is on the hash ring. Undefined: the address is used. */
  readonly name: string | undefined;
  readonly shardCount: number;
  /** Release that the process runs, shown to operators. */
  readonly release?: string | undefined;
  /** Abilities that former releases lack. Nodes use an ability only if all nodes have it. */
  readonly features?: readonly string[] | undefined;
  /** Prefix of all subjects on the bus. */
  readonly prefix: string;
  /** Id of the cluster. Messages of other clusters are ignored. */
  readonly cluster: string;
  /** Time to listen for other nodes before the first claim, in milliseconds. */
  readonly startupGraceMs: number;
  /** Whether an ended lifeline may prove that a process has ended. */
  readonly isDirect: boolean;
  /**
   * Whether no other process can take over shards because this process holds the stores. Absent:
   * false.
   */
  readonly isOnlyWriter?: boolean;
};

/** Dependencies of a node on its process. */
export type NodePorts = ProcessPorts & {
  readonly bus: Bus;
  readonly journals: JournalStore;
  readonly shards: ShardStore;
  /** Connects to other nodes. */
  readonly dial: Dial;
  /** Compares the wall clock with the clocks of other nodes. Undefined without a cluster. */
  readonly clocks?: Pick<ClockWatch, 'isAside' | 'verdict'> | undefined;
  readonly metrics: NodeMetrics;
  /** Reason to refuse commits for now. Undefined: never refuse. */
  readonly refusal?: Journal['refusal'];
  /** Logs rare events for operators. */
  readonly logger: Logger;
};

/** Parts of an incarnation that its actors depend on. */
export type NodeContext = {
  /** `host:port` at which the other nodes reach this node. */
  readonly address: string;
  readonly log: CommitLog;
  readonly gate: ShardGate;
  readonly routes: ShardOwners;
  /** Whether every node of the service has a feature of this node; see `Membership`. */
  readonly isEverywhere: (feature: string) => boolean;
};

/** Actor hosts of an incarnation, and the service in front of them. */
export type HostedServices<Served> = {
  readonly served: Served;
  readonly hosts: readonly (ShardedHost & { abandon(): void })[];
  /** Called when the incarnation has begun to serve a shard. */
  readonly opened?: (shard: number) => void;
  readonly end: () => void;
};

/** Builds the hosted services of an incarnation. */
export type HostServices<Served> = (context: NodeContext) => HostedServices<Served>;
