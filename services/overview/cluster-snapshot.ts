import type { Bus } from '#bus/bus';
import { type Member, Membership } from '#cluster/membership';
import type { ShardTable } from '#overview/shard-table';
import type { Clock } from '#platform/clock';

/** The table of one service, beside what its nodes say of themselves. */
export type ClusterSnapshot = ShardTable & {
  /** Every node that is heard now, leaving ones too, in the order of their names. */
  readonly members: readonly Member[];
  /** Names those that are present, as they do it themselves; equal for equal views. */
  readonly viewHash: string;
  /** The node that should own each shard; empty if no node was heard. */
  readonly ring: readonly string[];
  /** Clusters that speak under the same subjects. */
  readonly strangers: readonly string[];
};

/** Where nodes are heard. */
export type Hearing = {
  readonly bus: Bus;
  readonly clock: Clock;
  /** First part of all subjects on the bus. */
  readonly prefix: string;
};

/** Whom one who is none of them hears of a service. */
export type Heard = Disposable & {
  readonly members: Membership;
  readonly strangers: ReadonlySet<string>;
};

/** Listens to the nodes of the service that a table is of, until disposed. */
export function hear({ bus, clock, prefix }: Hearing, { cluster, service }: ShardTable): Heard {
  const strangers = new Set<string>();
  const members = new Membership({
    ...{ bus, clock, prefix, cluster, service },
    self: undefined,
    keepsShards: true,
    onForeignCluster: (stranger) => void strangers.add(stranger.cluster),
  });
  return { members, strangers, [Symbol.dispose]: () => members[Symbol.dispose]() };
}

/** What is so now, by a table and by what is heard; `ring` says which of some nodes is due for a shard. */
export function snapshotOf(
  table: ShardTable,
  { members, strangers }: Heard,
  ring: (nodes: readonly string[]) => readonly string[],
): ClusterSnapshot {
  return {
    ...table,
    members: members.heard().toSorted((a, b) => (a.node < b.node ? -1 : 1)),
    viewHash: members.viewHash,
    ring: ring(members.present().map(({ node }) => node)),
    strangers: [...strangers],
  };
}
