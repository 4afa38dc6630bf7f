import { UNIT_COSTS } from '#ctl/capacity/capacity';
import { CAPACITY } from '#ctl/capacity/command';
import type { Values } from '#ctl/command';
import { tableLines } from '#deploy/documents/markdown-table';

/** Table of CPU cost per unit of work, from the figures of `ctl capacity`. */
export function unitCostLines(): string[] {
  const { edge, limiter, engine, cassandra } = UNIT_COSTS;
  const rows = [
    ['an observation', edge.observation, limiter.observation, engine.observation],
    ['an append of any size', undefined, undefined, engine.append],
    ['a stored head', undefined, undefined, engine.head],
    ['an activation', undefined, undefined, engine.activation],
    ['an idempotency key', edge.keyed, limiter.keyed, engine.keyed],
  ] as const;
  const { observation, append, head, activation, keyed } = cassandra;
  const stored = [observation, append, head, activation, keyed];
  const cell = (us: number | undefined) => (us === undefined ? '-' : us.toFixed(us < 100 ? 1 : 0));
  return tableLines(
    ['µs of CPU for', 'edge', 'limiter', 'engine', 'Cassandra, per copy'],
    rows.map(([work, ...us], place) => [work, ...[...us, stored[place]].map(cell)]),
  );
}

/** Example loads for docs/scale.md: a usual load, and many rarely observed instances. */
const EXAMPLES: readonly Values[] = [
  { observations: '5000', instances: '1000000' },
  { observations: '167000', instances: '10000000', 'keyed-share': '0.2' },
];

/** `ctl capacity` commands for the examples, with their output. */
export function plannedClusterLines(): string[] {
  return EXAMPLES.flatMap((values, place) => {
    const args = Object.entries(values).map(([name, value]) => `--${name} ${value}`);
    return [
      ...(place === 0 ? [] : ['']),
      '```sh',
      `node services/main.ts ctl capacity ${args.join(' ')}`,
      '```',
      '```',
      CAPACITY.run(values).text,
      '```',
    ];
  });
}
