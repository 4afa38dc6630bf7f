import { CALLED_ROLES, type PresentProcess } from '#cluster/roll-call';
import { snapshotCommand } from '#ctl/cluster-snapshot';
import { SERVICES } from '#overview/shard-table';
import { nodesOf, type SeenNode } from '#overview/snapshot-nodes';

/** A node, or a process that is none: it owns nothing and has no view. */
type Listed = Pick<SeenNode, 'node' | 'state' | 'since' | 'release'> &
  Partial<Pick<SeenNode, 'address' | 'serves' | 'owns' | 'view' | 'agrees'>> & {
    readonly service: string;
    readonly incarnation: string | undefined;
  };

/**
 * `ctl nodes`: every node that is heard, every owner of shards that is not, and every edge and console
 * that answers.
 */
export const NODES = snapshotCommand<Listed>({
  words: ['nodes'],
  summary: 'show the nodes of the cluster, its edges and its consoles',
  description:
    'Shows every node that is heard, what it serves, and whether all see the same nodes; and every edge and console.',
  options: {
    service: {
      value: 'kind',
      about: 'only processes of this kind',
      choices: [...SERVICES, ...CALLED_ROLES],
    },
  },
  items: async (snapshot, { journals }) =>
    await nodesOf(snapshot, (incarnation) => journals.readHead(incarnation, 'quorum')),
  called: listedOf,
  headings: [
    ...['SERVICE', 'NODE', 'INCARNATION', 'ADDRESS', 'STATE', 'SERVES', 'OWNS'],
    ...['VIEW', 'AGREES', 'SINCE', 'RELEASE'],
  ],
  row({ service, node, incarnation, address, state, serves, owns, ...said }) {
    const sees = [said.view, agreementText(said.agrees), said.since, said.release];
    return [service, node, incarnation, address, state, serves, owns, ...sees];
  },
});

function listedOf({ role, node, incarnation, startedAtMs, release }: PresentProcess): Listed {
  const since = new Date(startedAtMs).toISOString();
  return { service: role, node, incarnation, state: 'serving', since, release };
}

function agreementText(agrees: boolean | undefined): string | undefined {
  if (agrees === undefined) return undefined;
  return agrees ? 'yes' : 'NO';
}
