import { startStores } from '#bench/durable/service';
import type { ClosedResult } from '#bench/load/wrk';
import { temporaryFolder } from '#bench/processes/temporary-folder';
import { findWrk } from '#bench/processes/tool-path';
import {
  type Cell,
  type CellTimes,
  type GrowthBench,
  measureCell,
  openKeyspace,
  type SeededKeyspace,
} from '#bench/scale/rates/growth-cell';
import { figure, type ScaleFigure, type ScalePart } from '#bench/scale/scale-part';

/** Numbers of known instances, up to the number in the engine's memory target. */
const KNOWN = [100, 10_000, 1_000_000] as const;
const KNOWN_QUICK = [100, 1_000] as const;

/** Maximum engines: two engines and Cassandra fill two cores; the third shows contention. */
const ENGINES_MAX = 3;

/** Lead-in for JIT compilation and checkpoints, which are up to two minutes late. */
const USUAL: CellTimes = { leadInS: 125, measuredS: 8 };

/** Times for a keyspace with many instances: the lead-in activates all observed instances. */
const MANY: CellTimes = { leadInS: 140, measuredS: 8 };
const MANY_KNOWN = 100_000;

const QUICK: CellTimes = { leadInS: 1, measuredS: 1 };

/** First run, not reported: Cassandra's JIT compilers are busy. */
const COMPILE: CellTimes = { leadInS: 35, measuredS: 1 };

/** A number of engines, and `place`, an index in the list of keyspaces. */
type Combination = { readonly engines: number; readonly place: number };

/** Columns of the table. CPU is in µs per observation. */
const COLUMNS = [
  ...['observations/s', 'p50 ms', 'p99 ms'],
  ...['edge µs', 'limiter µs', 'engines µs', 'Cassandra µs'],
  ...['records per group', 'append ms', 'active'],
] as const;

/** Cost of an observation by number of engines and known instances. */
export const growth: ScalePart = {
  name: 'growth',
  title: 'Cost of an observation: 1 to 3 engines, 100 to 1,000,000 instances',
  about:
    '`2 × 10,000` means 2 engines and 10,000 instances. CPU is in µs per observation, without NATS. ' +
    '`active` is the number of instances in memory. In rows "not in memory", each observation first ' +
    'loads its instance from Cassandra. A group is one append to the journal.',
  columns: COLUMNS,
  async measure({ isQuick, print }) {
    const folder = temporaryFolder();
    const wrk = await findWrk();
    await using stores = await startStores({ folder, print });
    const bench: GrowthBench = { wrk, stores, print };
    const keyspaces: SeededKeyspace[] = [];
    for (const known of isQuick ? KNOWN_QUICK : KNOWN)
      keyspaces.push(await openKeyspace(bench, known));
    const [smallest] = keyspaces;
    if (!isQuick && smallest !== undefined) await measureCell(bench, smallest, 1, COMPILE);
    const cells: Cell[] = [];
    for (const { engines, place } of isQuick ? QUICK_COMBINATIONS : inTurns(keyspaces.length)) {
      const seeded = keyspaces[place];
      if (seeded === undefined) throw new Error(`keyspace ${place} does not exist`);
      cells.push(await measureCell(bench, seeded, engines, isQuick ? QUICK : timesOf(seeded)));
    }
    return figuresOf(cells);
  },
};

const QUICK_COMBINATIONS: readonly Combination[] = [{ engines: 2, place: 1 }];

/**
 * Every combination once. Each third of the run has each number of engines and each keyspace once,
 * so that a slowing machine favors no combination.
 */
function inTurns(keyspaces: number): Combination[] {
  return Array.from({ length: ENGINES_MAX * keyspaces }, (_, nth) => {
    const round = Math.floor(nth / keyspaces);
    const place = (nth + 2 * round) % keyspaces;
    return { engines: 1 + (nth % ENGINES_MAX), place };
  });
}

function timesOf({ known }: SeededKeyspace): CellTimes {
  return known >= MANY_KNOWN ? MANY : USUAL;
}

/**
 * A row for each cell, ordered by number of engines and then of instances. A cell that was also
 * measured with instances that are not in memory has a second row.
 */
function figuresOf(cells: readonly Cell[]): ScaleFigure[] {
  const sorted = cells.toSorted((a, b) => a.engines - b.engines || a.known - b.known);
  return sorted.flatMap(
    ({ engines, known, result, recordsPerGroup, appendMs, active, whenCold }) => {
      const title = `${engines} × ${known.toLocaleString('en')}`;
      const journal = [recordsPerGroup.toFixed(1), appendMs.toFixed(1)];
      const memory = active.toLocaleString('en');
      const usual = rowOf(title, [...cellsOf(result), ...journal, memory]);
      if (whenCold === undefined) return [usual];
      return [usual, rowOf(`${title}, not in memory`, [...cellsOf(whenCold), '', '', ''])];
    },
  );
}

function rowOf(title: string, cells: readonly string[]): ScaleFigure {
  return { ...figure(title, ''), cells };
}

/** The first seven of `COLUMNS`. */
function cellsOf({ requestsPerS, p50Ms, p99Ms, cpu }: ClosedResult): string[] {
  const cpuOf = (isMeant: (name: string) => boolean) =>
    cpu
      .filter(({ process }) => isMeant(process))
      .reduce((sum, { microsPerRequest }) => sum + microsPerRequest, 0)
      .toFixed(0);
  return [
    requestsPerS.toFixed(0),
    p50Ms.toFixed(1),
    p99Ms.toFixed(1),
    cpuOf((name) => name === 'edge'),
    cpuOf((name) => name === 'limiter'),
    cpuOf((name) => name.startsWith('engine')),
    cpuOf((name) => name === 'cassandra'),
  ];
}
