import type { Member } from '#cluster/membership';
import {
  type ClusterSnapshot,
  readCluster,
  remarksOn,
  SERVICE_OPTION,
} from '#ctl/cluster-snapshot';
import type { ClusterCommand, ClusterPorts } from '#ctl/command';
import { table } from '#ctl/table';
import type { ShardedService } from '#storage/shard-store';

/** `ctl nodes`: every node that is heard, and every owner of shards that is not. */
export const NODES: ClusterCommand = {
  kind: 'cluster',
  words: ['nodes'],
  summary: 'Shows every node that is heard, what it serves, and whether all see the same nodes.',
  args: [],
  options: SERVICE_OPTION,
  async run(ports, _args, values) {
    const snapshots = await readCluster(ports, values);
    const nodes = await Promise.all(snapshots.map((snapshot) => nodesOf(ports, snapshot)));
    const data = nodes.flat();
    const headings = [
      ...['SERVICE', 'NODE', 'INCARNATION', 'ADDRESS', 'STATE', 'SERVES', 'OWNS'],
      ...['VIEW', 'AGREES', 'SINCE'],
    ];
    const rows = data.map((node) => [
      node.service,
      node.node ?? '-',
      node.incarnation,
      node.address ?? '-',
      node.state,
      String(node.serves ?? '-'),
      String(node.owns),
      node.view ?? '-',
      agreementText(node.agrees),
      node.since ?? '-',
    ]);
    return { data, text: `${table(headings, rows)}${remarksOn(snapshots)}` };
  },
};

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
};

async function nodesOf(ports: ClusterPorts, snapshot: ClusterSnapshot): Promise<Node[]> {
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
      };
    }),
  );
}

function ownedBy({ rows }: ClusterSnapshot, incarnation: string): number {
  return rows.filter(({ owner }) => owner === incarnation).length;
}

function agreementText(agrees: boolean | undefined): string {
  if (agrees === undefined) return '-';
  return agrees ? 'yes' : 'NO';
}
