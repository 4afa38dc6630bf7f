import type { Member } from '#cluster/membership';
import { type ClusterPicture, lookAtCluster, remarksOn } from '#ctl/cluster-picture';
import type { ClusterPorts } from '#ctl/cluster-ports';
import type { ClusterCommand } from '#ctl/command';
import { table } from '#ctl/table';
import { SERVICE_OPTION, wantedServices } from '#ctl/wanted-services';
import type { ShardedService } from '#storage/shard-store';

/** `ctl nodes`: every node that is heard, and every owner of shards that is not. */
export const NODES: ClusterCommand = {
  kind: 'cluster',
  words: ['nodes'],
  summary: 'Shows every node that is heard, what it serves, and whether all see the same nodes.',
  args: [],
  options: SERVICE_OPTION,
  async run(ports, _args, values) {
    const pictures = await lookAtCluster(ports, wantedServices(values));
    const nodes = await Promise.all(pictures.map((picture) => nodesOf(ports, picture)));
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
    return { data, text: `${table(headings, rows)}${remarksOn(pictures)}` };
  },
};

/** `ctl ring`: what each node should own and what it does. */
export const RING: ClusterCommand = {
  kind: 'cluster',
  words: ['ring'],
  summary: 'Shows what each node should own by the ring, and what it serves.',
  args: [],
  options: SERVICE_OPTION,
  async run(ports, _args, values) {
    const pictures = await lookAtCluster(ports, wantedServices(values));
    const data = pictures.flatMap(ringOf);
    const headings = ['SERVICE', 'NODE', 'DUE', 'OWNS', 'TO COME', 'TO GO', 'SHARDS'];
    const rows = data.map(({ service, node, due, owns, to_come, to_go }) => [
      service,
      node ?? '(nobody)',
      ...[due, owns.length, to_come, to_go].map(String),
      rangesOf(owns),
    ]);
    return { data, text: `${table(headings, rows)}${remarksOn(pictures)}` };
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

async function nodesOf(ports: ClusterPorts, picture: ClusterPicture): Promise<Node[]> {
  return [...heardNodes(picture), ...(await unheardOwners(ports, picture))];
}

function heardNodes(picture: ClusterPicture): Node[] {
  return picture.members.map((member) => ({
    service: picture.service,
    node: member.node,
    incarnation: member.incarnation,
    address: member.address,
    state: stateOf(member),
    serves: member.shards.length,
    owns: ownedBy(picture, member.incarnation),
    view: member.viewHash,
    agrees: member.viewHash === picture.viewHash,
    since: new Date(member.startedAtMs).toISOString(),
  }));
}

function stateOf({ isLeaving, isAside }: Member): Node['state'] {
  if (isLeaving) return 'leaving';
  return isAside === true ? 'wrong clock' : 'serving';
}

async function unheardOwners({ journals }: ClusterPorts, picture: ClusterPicture): Promise<Node[]> {
  const heard = new Set(picture.members.map(({ incarnation }) => incarnation));
  const owners = new Set(picture.rows.map(({ owner }) => owner)).difference(heard);
  const { service } = picture;
  const unknown = { service, node: undefined, serves: undefined, view: undefined };
  return await Promise.all(
    [...owners].map(async (incarnation) => {
      const head = await journals.readHead(incarnation, 'quorum');
      return {
        ...unknown,
        incarnation,
        address: head?.address,
        state: head?.isSealed ? ('sealed' as const) : ('not heard' as const),
        owns: ownedBy(picture, incarnation),
        agrees: undefined,
        since: undefined,
      };
    }),
  );
}

function ownedBy({ rows }: ClusterPicture, incarnation: string): number {
  return rows.filter(({ owner }) => owner === incarnation).length;
}

function agreementText(agrees: boolean | undefined): string {
  if (agrees === undefined) return '-';
  return agrees ? 'yes' : 'NO';
}

/** A row for each node of the ring, each owner that is not on it, and for what nobody owns. */
function ringOf({ service, members, ring, rows, shardCount }: ClusterPicture) {
  const nodeOf = new Map(members.map(({ incarnation, node }) => [incarnation, node]));
  const owners = new Map(rows.map(({ shard, owner }) => [shard, nodeOf.get(owner) ?? owner]));
  const shards = Array.from({ length: shardCount }, (_, shard) => shard);
  const names: (string | undefined)[] = [...new Set([...ring, ...owners.values()])].sort();
  if (owners.size < shardCount) names.push(undefined);
  return names.map((node) => {
    const owns = shards.filter((shard) => owners.get(shard) === node);
    const due = shards.filter((shard) => ring[shard] === node);
    const isDue = (shard: number) => ring[shard] === node;
    const to_go = ring.length === 0 ? 0 : owns.filter((shard) => !isDue(shard)).length;
    const to_come = due.filter((shard) => owners.get(shard) !== node).length;
    return { service, node, due: ring.length === 0 ? 0 : due.length, owns, to_come, to_go };
  });
}

/** Ascending numbers as `0-3,7`. */
function rangesOf(numbers: readonly number[]): string {
  const ranges: string[] = [];
  for (let from = 0; from < numbers.length; ) {
    let to = from;
    while (numbers[to + 1] === (numbers[to] ?? 0) + 1) to += 1;
    ranges.push(to === from ? `${numbers[from]}` : `${numbers[from]}-${numbers[to]}`);
    from = to + 1;
  }
  return ranges.join(',') || '-';
}
