import { snapshotCommand } from '#ctl/cluster-snapshot';
import { nodesOf } from '#overview/snapshot-nodes';

/** `ctl nodes`: every node that is heard, and every owner of shards that is not. */
export const NODES = snapshotCommand({
  words: ['nodes'],
  summary: 'show the nodes of the cluster',
  description:
    'Shows every node that is heard, what it serves, and whether all see the same nodes.',
  items: async (snapshot, { journals }) =>
    await nodesOf(snapshot, (incarnation) => journals.readHead(incarnation, 'quorum')),
  headings: [
    ...['SERVICE', 'NODE', 'INCARNATION', 'ADDRESS', 'STATE', 'SERVES', 'OWNS'],
    ...['VIEW', 'AGREES', 'SINCE', 'RELEASE'],
  ],
  row({ service, node, incarnation, address, state, serves, owns, ...said }) {
    const sees = [said.view, agreementText(said.agrees), said.since, said.release];
    return [service, node, incarnation, address, state, serves, owns, ...sees];
  },
});

function agreementText(agrees: boolean | undefined): string | undefined {
  if (agrees === undefined) return undefined;
  return agrees ? 'yes' : 'NO';
}
