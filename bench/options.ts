import { parseArgs } from 'node:util';
import { TITLES } from '#bench/processes/servers';

/** Parts of a run: servers under closed load, and other measurements. */
const PARTS = [
  ...(['a', 'c', 's', 'p', 'open', 'd', 'd3', 'k', 'e', 'ke', 'pg', 'cas'] as const),
  ...(['d50', 'k50', 'pg50', 'cas50'] as const),
  ...(['limiter', 'cold', 'memory', 'journal'] as const),
];

/** Name of a part. */
export type Part = (typeof PARTS)[number];

/** Durations and repetitions of a run. */
export type Options = {
  readonly parts: ReadonlySet<Part>;
  /** Whether all parts run at full length. Only a complete run writes the results file. */
  readonly isComplete: boolean;
  readonly rounds: number;
  readonly secondsPerRun: number;
  readonly warmUpS: number;
  readonly openSeconds: number;
  readonly coldStarts: number;
  readonly memoryInstances: number;
  readonly memoryIdleS: number;
  /** Number of engines of the durable service, except (d3); default 1. */
  readonly engines: number;
  /** Seconds of load on the durable service before the measurement. */
  readonly checkpointS: number;
  /** Whether to wait for the last checkpoints before the next server gets load. */
  readonly isDrained: boolean;
  /** Seconds of initial load for Cassandra's JIT compilers, for each number of connections. */
  readonly compileS: number;
  readonly journalSlots: number;
};

// Five rounds: a single disturbed round does not change the median. 45 s idle: call ids expire
// after 20 s, and the run waits for pending checkpoints. 200,000 slots: the project's target. 90 s
// per connection count: under durable load, JIT compilers take a third of Cassandra's CPU after 22
// s and a hundredth after 150 s. The limiter also gets 90 s; its JIT compilation was not measured.
const FULL = {
  rounds: 5,
  secondsPerRun: 4,
  warmUpS: 3,
  openSeconds: 5,
  coldStarts: 5,
  memoryInstances: 100_000,
  memoryIdleS: 45,
  checkpointS: 125,
  isDrained: true,
  compileS: 90,
  journalSlots: 200_000,
};

const QUICK = {
  rounds: 2,
  secondsPerRun: 1,
  warmUpS: 1,
  openSeconds: 2,
  coldStarts: 1,
  memoryInstances: 5_000,
  memoryIdleS: 2,
  checkpointS: 1,
  isDrained: false,
  compileS: 1,
  journalSlots: 2_000,
};

/** Usage text for `--help` and for an invalid command line. */
export const USAGE = `usage: node bench/main.ts [--quick] [--rounds n] [--engines n] [--only part,...]

  --quick      a smoke test with the shortest rounds; its figures mean nothing
  --rounds n   rounds in which servers take turns (default ${FULL.rounds})
  --engines n  engines of d, k, d50 and k50 (default 1)
  --only       comma-separated parts: ${PARTS.join(',')}

${Object.entries(TITLES)
  .map(([part, title]) => `  ${part.padEnd(8)} ${title}`)
  .join('\n')}
  open     c, s and p at a fixed rate
  limiter  the limiter, compared with Redis
  cold     time from start to first answer
  memory   memory of idle instances
  journal  appends to a journal that has truncated many slots`;

/** Maximum number of engines on a machine with two cores. */
const ENGINES_MAX = 8;

/** Parses the command line; undefined if invalid. */
export function readOptions(args: readonly string[]): Options | undefined {
  const values = parse(args);
  if (values === undefined) return undefined;
  const named = values.only?.split(',') ?? PARTS;
  const parts = new Set(PARTS.filter((part) => named.includes(part)));
  if (parts.size !== new Set(named).size) return undefined;
  const engines = Number(values.engines);
  if (!Number.isInteger(engines) || engines < 1 || engines > ENGINES_MAX) return undefined;
  const sizes = values.quick ? QUICK : FULL;
  const rounds = Number(values.rounds ?? sizes.rounds);
  if (!Number.isInteger(rounds) || rounds < 1) return undefined;
  const isWhole = !values.quick && engines === 1 && rounds === FULL.rounds;
  const isComplete = isWhole && parts.size === PARTS.length;
  return { parts, isComplete, engines, ...sizes, rounds };
}

function parse(
  args: readonly string[],
): { quick: boolean; rounds?: string; engines: string; only?: string } | undefined {
  const options = {
    quick: { type: 'boolean', default: false },
    rounds: { type: 'string' },
    engines: { type: 'string', default: '1' },
    only: { type: 'string' },
  } as const;
  try {
    return parseArgs({ args: [...args], options }).values;
  } catch {
    return undefined;
  }
}
