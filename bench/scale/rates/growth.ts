import { startStores } from '#bench/durable/service';
import type { ClosedResult } from '#bench/load/wrk';
import { cpuOf, microsOf } from '#bench/page/comparison';
import { atMost, type Column, type Figure, type Part, type Table } from '#bench/page/part';
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

/** Numbers of known instances, up to the number in the engine's memory target. */
const KNOWN = [100, 10_000, 1_000_000] as const;
const KNOWN_QUICK = [100, 1_000] as const;

/** Maximum CPU per observation with the most instances, divided by the CPU with the fewest. */
const COST_RATIO_MAX = 1.3;

/** Lead-in for JIT compilation and checkpoints, which are up to two minutes late. */
const USUAL: CellTimes = { leadInS: 125, measuredS: 20, isDrained: true };

/** Times for a keyspace with many instances: the lead-in activates all observed instances. */
const MANY: CellTimes = { leadInS: 140, measuredS: 20, isDrained: true };
const MANY_KNOWN = 100_000;

const QUICK: CellTimes = { leadInS: 1, measuredS: 1, isDrained: false };

/** First run, not reported: Cassandra's JIT compilers are busy. */
const COMPILE: CellTimes = { leadInS: 35, measuredS: 1, isDrained: true };

/** CPU columns are in µs per observation. */
const COLUMNS: readonly Column[] = [
  { name: 'observations/s' },
  { name: 'p50 ms', decimals: 1 },
  { name: 'p99 ms', decimals: 1 },
  { name: 'CPU µs', decimals: 1 },
  { name: 'records per group', decimals: 1 },
  { name: 'append ms', decimals: 1 },
  { name: 'active' },
];

/** Cost of an observation by number of known instances. */
export const growth: Part = {
  name: 'growth',
  group: 'growth',
  title: 'Cost of an observation, 100 to 1,000,000 instances',
  about:
    'One engine. At most 100,000 of the instances are observed in turn, at 64 connections. `active` ' +
    'is the number of instances in memory. In rows "not in memory", each observation first loads its ' +
    'instance from Cassandra. A group is one append to the journal.',
  missed:
    'With 100,000 active instances, the observations of ten seconds fill half of the tail. Then the ' +
    'engine stores an instance after nearly every observation. This is most of the growth.',
  needs: ['wrk', 'cassandra'],
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
    for (const seeded of keyspaces) {
      cells.push(await measureCell(bench, seeded, 1, isQuick ? QUICK : timesOf(seeded)));
    }
    return { figures: [costFigure(cells)], tables: [tableOf(cells)] };
  },
};

function timesOf({ known }: SeededKeyspace): CellTimes {
  return known >= MANY_KNOWN ? MANY : USUAL;
}

/** CPU of all servers with the most instances, divided by the CPU with the fewest instances. */
function costFigure(cells: readonly Cell[]): Figure {
  const [few, most] = [cells.at(0), cells.at(-1)];
  const costOf = (cell: Cell | undefined) =>
    cell === undefined ? Number.NaN : microsOf(cell.result, (name) => name !== 'wrk');
  const range = `${few?.known.toLocaleString('en')} to ${most?.known.toLocaleString('en')}`;
  return atMost(
    `growth of the CPU of an observation from ${range} instances`,
    costOf(most) / costOf(few),
    COST_RATIO_MAX,
    'times',
    2,
  );
}

/** A row for each cell. A cell that was also measured without instances in memory has two rows. */
function tableOf(cells: readonly Cell[]): Table {
  const rows = cells.flatMap(({ known, result, recordsPerGroup, appendMs, active, whenCold }) => {
    const name = known.toLocaleString('en');
    const usual = { name, cells: [...cellsOf(result), recordsPerGroup, appendMs, active] };
    if (whenCold === undefined) return [usual];
    return [usual, { name: `${name}, not in memory`, cells: cellsOf(whenCold) }];
  });
  return { name: 'instances', columns: COLUMNS, rows };
}

/** The first four of `COLUMNS`. */
function cellsOf(result: ClosedResult) {
  const { requestsPerS, p50Ms, p99Ms } = result;
  return [requestsPerS, p50Ms, p99Ms, cpuOf([result])];
}
