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

/** Example load in docs/scale.md. */
const EXAMPLE: Values = { observations: '5000', instances: '1000000' };

/** A command with its output. */
export function plannedClusterLines(): string[] {
  const args = Object.entries(EXAMPLE).map(([name, value]) => `--${name} ${value}`);
  return [
    '```sh',
    `node services/main.ts ctl capacity ${args.join(' ')}`,
    '```',
    '```',
    CAPACITY.run(EXAMPLE).text,
    '```',
  ];
}
