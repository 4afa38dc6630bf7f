import type { Member } from '#cluster/membership';
import type { ClusterSnapshot } from '#overview/cluster-snapshot';
import type { JournalHead } from '#storage/journal-store';
import type { ShardedService } from '#storage/shard-store';

/** A node that is heard, or an owner of shards that is not. */
export type SeenNode = {
  readonly service: ShardedService;
  readonly node: string | undefined;
  readonly incarnation: string;
  readonly address: string | undefined;
  readonly state: 'serving' | 'leaving' | 'wrong clock' | 'sealed' | 'not heard';
  /** Shards it says that it serves, and shards that are its by the table. */
  readonly serves: number | undefined;
  readonly owns: number;
  readonly view: string | undefined;
  /** Whether it sees whom we see. */
  readonly agrees: boolean | undefined;
  readonly since: string | undefined;
  /** The release that it runs. */
  readonly release: string | undefined;
};

/** Every node that is heard, then every owner that is not; `headOf` reads the head of a journal. */
export async function nodesOf(
  snapshot: ClusterSnapshot,
  headOf: (incarnation: string) => Promise<JournalHead | undefined>,
): Promise<SeenNode[]> {
  const unheard = [...unheardOwners(snapshot)].map(async (incarnation) => {
    const head = await headOf(incarnation);
    return unheardNode(snapshot, incarnation, head);
  });
  return [...heardNodes(snapshot), ...(await Promise.all(unheard))];
}

function heardNodes(snapshot: ClusterSnapshot): SeenNode[] {
  return snapshot.members.map((member) => ({
    service: snapshot.service,
    node: member.node,
    incarnation: member.incarnation,
    address: member.address,
    state: stateOf(member),
    serves: member.shards.length,
    owns: ownedBy(snapshot, member.incarnation),
    view: member.viewHash,
    agrees: member.viewHash === snapshot.viewHash,
    since: new Date(member.startedAtMs).toISOString(),
    release: member.release,
  }));
}

function unheardNode(
  snapshot: ClusterSnapshot,
  incarnation: string,
  head: JournalHead | undefined,
): SeenNode {
  return {
    service: snapshot.service,
    node: undefined,
    incarnation,
    address: head?.address,
    state: head?.isSealed ? 'sealed' : 'not heard',
    serves: undefined,
    owns: ownedBy(snapshot, incarnation),
    view: undefined,
    agrees: undefined,
    since: undefined,
    release: undefined,
  };
}

function stateOf({ isLeaving, isAside }: Member): SeenNode['state'] {
  if (isLeaving) return 'leaving';
  return isAside === true ? 'wrong clock' : 'serving';
}

function unheardOwners({ members, rows }: ClusterSnapshot): ReadonlySet<string> {
  const heard = new Set(members.map(({ incarnation }) => incarnation));
  return new Set(rows.map(({ owner }) => owner)).difference(heard);
}

function ownedBy({ rows }: ClusterSnapshot, incarnation: string): number {
  return rows.filter(({ owner }) => owner === incarnation).length;
}
