import { snapshotCommand } from '#ctl/cluster-snapshot';
import { ringOf } from '#overview/snapshot-ring';

/** `ctl ring`: what each node should own and what it does. */
export const RING = snapshotCommand({
  words: ['ring'],
  summary: 'show which node should own which shards',
  description: 'Shows what each node should own by the ring, and what it serves.',
  items: ringOf,
  headings: ['SERVICE', 'NODE', 'DUE', 'OWNS', 'TO COME', 'TO GO', 'SHARDS'],
  row({ service, node, due, owns, to_come, to_go }) {
    return [service, node ?? '(none)', due, owns.length, to_come, to_go, rangesOf(owns)];
  },
});

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
