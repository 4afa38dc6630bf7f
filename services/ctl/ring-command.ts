import { type ClusterSnapshot, snapshotCommand } from '#ctl/cluster-snapshot';

/** `ctl ring`: what each node should own and what it does. */
export const RING = snapshotCommand({
  words: ['ring'],
  summary: 'Shows what each node should own by the ring, and what it serves.',
  items: ringOf,
  headings: ['SERVICE', 'NODE', 'DUE', 'OWNS', 'TO COME', 'TO GO', 'SHARDS'],
  row({ service, node, due, owns, to_come, to_go }) {
    return [service, node ?? '(none)', due, owns.length, to_come, to_go, rangesOf(owns)];
  },
});

/** A row for each node of the ring, each owner that is not on it, and for what no node owns. */
function ringOf({ service, members, ring, rows, shardCount }: ClusterSnapshot) {
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
