import type { Bus } from '#bus/bus';
import type { ClockWatch } from '#cluster/clocks';
import type { Probe } from '#cluster/failure-watch';
import type { ShardOwners } from '#cluster/shard-owners';
import type { NodeMetrics } from '#node/node-metrics';
import type { ShardedHost } from '#node/shards';
import type { Logger } from '#platform/logger';
import type { ProcessPorts } from '#platform/variables';
import type { CommitLog } from '#runtime/commit-log';
import type { ShardGate } from '#runtime/shard-gate';
import type { ShardedService, ShardStore } from '#storage/ports/cluster';
import type { Journal, JournalStore } from '#storage/ports/journal';

/** What a node is in its cluster. */
export type NodeConfig = {
  readonly service: ShardedService;
  /** Stable name, by which the ring hashes the node; undefined: its address is its name. */
  readonly name: string | undefined;
  readonly shardCount: number;
  /** The release that the process runs, for people who look at the cluster. */
  readonly release?: string | undefined;
  /** First part of all subjects on the bus, and the id of the cluster that may speak there. */
  readonly prefix: string;
  readonly cluster: string;
  /** How long to listen for other nodes before claiming anything, in milliseconds. */
  readonly startupGraceMs: number;
  /** Whether addresses lead straight to processes, with no proxy or NAT between. */
  readonly isDirect: boolean;
  /** Whether no other process can take shards over, because this one holds the stores; absent: no. */
  readonly isOnlyWriter?: boolean;
};

/** What a node needs of its process. */
export type NodePorts = ProcessPorts & {
  readonly bus: Bus;
  readonly journals: JournalStore;
  readonly shards: ShardStore;
  readonly probe: Probe;
  /** Compares the wall clock with those of other nodes; undefined where there are none. */
  readonly clocks?: Pick<ClockWatch, 'isAside' | 'verdict'> | undefined;
  readonly metrics: NodeMetrics;
  /** Why nothing more should be committed for now; undefined: it never is refused. */
  readonly refusal?: Journal['refusal'];
  /** A line for the operator about what should not happen often. */
  readonly logger: Logger;
};

/** What the actors of one incarnation are built on. */
export type NodeContext = {
  /** `host:port` at which the other nodes reach this one. */
  readonly address: string;
  readonly log: CommitLog;
  readonly gate: ShardGate;
  readonly routes: ShardOwners;
};

/** The hosts of an incarnation's actors, and what serves them. */
export type HostedServices<Served> = {
  readonly served: Served;
  readonly hosts: readonly (ShardedHost & { abandon(): void })[];
  readonly end: () => void;
};

/** Builds the hosted services of an incarnation. */
export type HostServices<Served> = (context: NodeContext) => HostedServices<Served>;
