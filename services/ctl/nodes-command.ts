import type { Member } from '#cluster/membership';
import { type ClusterSnapshot, snapshotCommand } from '#ctl/cluster-snapshot';
import type { ClusterPorts } from '#ctl/command';
import type { ShardedService } from '#storage/shard-store';

/** `ctl nodes`: every node that is heard, and every owner of shards that is not. */
export const NODES = snapshotCommand({
  words: ['nodes'],
  summary: 'Shows every node that is heard, what it serves, and whether all see the same nodes.',
  items: nodesOf,
  headings: [
    ...['SERVICE', 'NODE', 'INCARNATION', 'ADDRESS', 'STATE', 'SERVES', 'OWNS'],
    ...['VIEW', 'AGREES', 'SINCE', 'RELEASE'],
  ],
  row({ service, node, incarnation, address, state, serves, owns, ...said }) {
    const sees = [said.view, agreementText(said.agrees), said.since, said.release];
    return [service, node, incarnation, address, state, serves, owns, ...sees];
  },
});

type Node = {
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

async function nodesOf(snapshot: ClusterSnapshot, ports: ClusterPorts): Promise<Node[]> {
  return [...heardNodes(snapshot), ...(await unheardOwners(ports, snapshot))];
}

function heardNodes(snapshot: ClusterSnapshot): Node[] {
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

function stateOf({ isLeaving, isAside }: Member): Node['state'] {
  if (isLeaving) return 'leaving';
  return isAside === true ? 'wrong clock' : 'serving';
}

async function unheardOwners(
  { journals }: ClusterPorts,
  snapshot: ClusterSnapshot,
): Promise<Node[]> {
  const heard = new Set(snapshot.members.map(({ incarnation }) => incarnation));
  const owners = new Set(snapshot.rows.map(({ owner }) => owner)).difference(heard);
  const { service } = snapshot;
  const unknown = { service, node: undefined, serves: undefined, view: undefined };
  return await Promise.all(
    [...owners].map(async (incarnation) => {
      const head = await journals.readHead(incarnation, 'quorum');
      return {
        ...unknown,
        incarnation,
        address: head?.address,
        state: head?.isSealed ? ('sealed' as const) : ('not heard' as const),
        owns: ownedBy(snapshot, incarnation),
        agrees: undefined,
        since: undefined,
        release: undefined,
      };
    }),
  );
}

function ownedBy({ rows }: ClusterSnapshot, incarnation: string): number {
  return rows.filter(({ owner }) => owner === incarnation).length;
}

function agreementText(agrees: boolean | undefined): string | undefined {
  if (agrees === undefined) return undefined;
  return agrees ? 'yes' : 'NO';
}
