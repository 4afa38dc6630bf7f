import { parseArgs } from 'node:util';

/** The parts of a run: the four servers under closed load, and everything measured besides. */
export const PARTS = ['a', 'c', 's', 'p', 'open', 'cold', 'memory'] as const;

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
};

// Five rounds give a median that one disturbed round cannot move. 45 s of idleness: request ids are
// forgotten after 20 s and checkpoints due after 20 s (architecture 3.2, 3.5).
const FULL = {
  rounds: 5,
  secondsPerRun: 4,
  warmUpS: 3,
  openSeconds: 5,
  coldStarts: 5,
  memoryInstances: 100_000,
  memoryIdleS: 45,
};

const QUICK = {
  rounds: 2,
  secondsPerRun: 1,
  warmUpS: 1,
  openSeconds: 2,
  coldStarts: 1,
  memoryInstances: 5_000,
  memoryIdleS: 2,
};

/** One line for a wrong command line. */
export const USAGE = `usage: node bench/main.ts [--quick] [--only ${PARTS.join(',')}]`;

/** Reads the command line; undefined when it is not understood. */
export function readOptions(args: readonly string[]): Options | undefined {
  const values = parse(args);
  if (values === undefined) return undefined;
  const named = values.only?.split(',') ?? PARTS;
  const parts = new Set(PARTS.filter((part) => named.includes(part)));
  if (parts.size !== new Set(named).size) return undefined;
  const isComplete = !values.quick && parts.size === PARTS.length;
  return { parts, isComplete, ...(values.quick ? QUICK : FULL) };
}

function parse(args: readonly string[]): { quick: boolean; only?: string } | undefined {
  const options = { quick: { type: 'boolean', default: false }, only: { type: 'string' } } as const;
  try {
    return parseArgs({ args: [...args], options }).values;
  } catch {
    return undefined;
  }
}
