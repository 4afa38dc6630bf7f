import { parseArgs } from 'node:util';

/** The parts of a run: the servers under closed load, and everything measured besides. */
const PARTS = [
  ...(['a', 'c', 's', 'p', 'open', 'd', 'pg', 'cas'] as const),
  ...(['limiter', 'cold', 'memory', 'journal'] as const),
];

/** One of `PARTS`. */
export type Part = (typeof PARTS)[number];

/** How long everything takes and how often it is done. */
export type Options = {
  readonly parts: ReadonlySet<Part>;
  /** Whether every part is run at full length; only then the results file is written. */
  readonly isComplete: boolean;
  readonly rounds: number;
  readonly secondsPerRun: number;
  readonly warmUpS: number;
  readonly openSeconds: number;
  readonly coldStarts: number;
  readonly memoryInstances: number;
  readonly memoryIdleS: number;
  /** Engines of the durable service; one unless given. */
  readonly engines: number;
  /** How long the durable service is loaded before it is measured, in s. */
  readonly checkpointS: number;
  /** How long it is loaded once at the beginning, with each number of connections, in s. */
  readonly compileS: number;
  readonly journalSlots: number;
};

// Five rounds give a median that one disturbed round cannot move. 45 s of idleness: request ids are
// forgotten after 20 s; what is stored by then, after two minutes, is waited for. 200,000 slots: the
// project's target is given for that many. Under the durable load Cassandra's compilers take a third
// of its CPU after 22 s and a hundredth after 150; a limiter's load, which lasts for one such time,
// was not looked at.
const FULL = {
  rounds: 5,
  secondsPerRun: 4,
  warmUpS: 3,
  openSeconds: 5,
  coldStarts: 5,
  memoryInstances: 100_000,
  memoryIdleS: 45,
  checkpointS: 125,
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
  compileS: 1,
  journalSlots: 2_000,
};

/** One line for a wrong command line. */
export const USAGE = `usage: node bench/main.ts [--quick] [--engines n] [--only ${PARTS.join(',')}]`;

/** More do not fit on one machine with two cores. */
const ENGINES_MAX = 8;

/** Reads the command line; undefined when it is not understood. */
export function readOptions(args: readonly string[]): Options | undefined {
  const values = parse(args);
  if (values === undefined) return undefined;
  const named = values.only?.split(',') ?? PARTS;
  const parts = new Set(PARTS.filter((part) => named.includes(part)));
  if (parts.size !== new Set(named).size) return undefined;
  const engines = Number(values.engines);
  if (!Number.isInteger(engines) || engines < 1 || engines > ENGINES_MAX) return undefined;
  const isComplete = !values.quick && engines === 1 && parts.size === PARTS.length;
  return { parts, isComplete, engines, ...(values.quick ? QUICK : FULL) };
}

function parse(
  args: readonly string[],
): { quick: boolean; engines: string; only?: string } | undefined {
  const options = {
    quick: { type: 'boolean', default: false },
    engines: { type: 'string', default: '1' },
    only: { type: 'string' },
  } as const;
  try {
    return parseArgs({ args: [...args], options }).values;
  } catch {
    return undefined;
  }
}
