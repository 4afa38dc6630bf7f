import { readFileSync } from 'node:fs';

/* Measured figures that `ctl capacity` calculates with, from the newest results of the benchmark. */

/** A number, or the median of several measurements. */
type Quantity = number | { readonly median: number };

type Cell = string | Quantity | { readonly [name: string]: Quantity };

/** Results of a part of the benchmark. The file has further fields. */
type PartResults = {
  readonly date: string;
  readonly commit: string;
  readonly tables?: readonly {
    readonly name: string;
    readonly columns: readonly { readonly name: string }[];
    readonly rows: readonly { readonly name: string; readonly cells: readonly Cell[] }[];
  }[];
};

type Results = Readonly<Record<string, PartResults>>;

let results: Results | undefined;

/** The newest results, read on first use: other commands of `ctl` need none. */
function readResults(): Results {
  const file = new URL('../../../../bench/results.json', import.meta.url);
  results ??= JSON.parse(readFileSync(file, 'utf8')) as Results;
  return results;
}

/** Parts of the benchmark that the figures come from. */
const USED = ['cluster', 'many', 'growth', 'instances'] as const;

type Used = (typeof USED)[number];

/** Names of the parts with the dates and commits of their runs. */
export function sources(): string[] {
  return USED.map((name) => {
    const { date = '', commit = '' } = readResults()[name] ?? {};
    return `${name} ${date.slice(0, 10)} at ${commit}`;
  });
}

/** Names of a cell in the results of the benchmark. */
type CellPlace = {
  readonly part: string;
  readonly table: string;
  readonly row: string;
  readonly column: string;
};

/** Finds a cell by its names; undefined if the results have no such cell. */
export function findCell(
  results: Results,
  { part, table, row, column }: CellPlace,
): Cell | undefined {
  const found = results[part]?.tables?.find(({ name }) => name === table);
  const index = found?.columns.findIndex(({ name }) => name === column) ?? -1;
  return found?.rows.find(({ name }) => name === row)?.cells[index];
}

/**
 * Number in a table of a part. `process` names the process if the cell has a number for each
 * process. Throws if the results have no such number, because a plan without it would be wrong.
 */
function figure(part: Used, table: string, row: string, column: string, process?: string): number {
  const cell = findCell(readResults(), { part, table, row, column });
  const quantity = process === undefined ? cell : ofProcess(cell, process);
  const value = numberOf(quantity);
  if (value !== undefined) return value;
  throw new Error(
    `bench/results.json has no ${[part, table, row, column, process].join(', ')}: run make bench`,
  );
}

function ofProcess(cell: Cell | undefined, process: string): Cell | undefined {
  return typeof cell === 'object'
    ? (cell as Readonly<Record<string, Quantity>>)[process]
    : undefined;
}

function numberOf(cell: Cell | undefined): number | undefined {
  if (typeof cell === 'number') return cell;
  return typeof cell === 'object' && typeof cell['median'] === 'number'
    ? cell['median']
    : undefined;
}

const [AT_64, AT_256] = ['64 connections', '256 connections'];
const CPU = 'CPU µs';
const DISK = 'Bytes on disk per observation';

/** CPU of a process in µs per observation. */
function micros(part: Used, table: string, row: string, process: string): number {
  return figure(part, table, row, CPU, process);
}

/** CPU in µs per observation, sizes in bytes. */
export function measuredFigures() {
  return {
    edgeUs: micros('many', AT_256, 'd50', 'edge'),
    edgeKeyedUs: micros('many', AT_256, 'k50', 'edge'),
    limiterUs: micros('cluster', AT_64, 'd', 'limiter'),
    limiterPlainUs: micros('many', AT_256, 'd50', 'limiter'),
    limiterKeyedUs: micros('many', AT_256, 'k50', 'limiter'),
    engineUs64: micros('cluster', AT_64, 'd', 'engine'),
    engineUs256: micros('cluster', AT_256, 'd', 'engine'),
    enginePlainUs: micros('many', AT_256, 'd50', 'engine'),
    engineKeyedUs: micros('many', AT_256, 'k50', 'engine'),
    engineFewUs: micros('growth', 'instances', '100', 'engine'),
    engineManyUs: micros('growth', 'instances', '1,000,000', 'engine'),
    engineColdUs: micros('growth', 'instances', '1,000,000, not in memory', 'engine'),
    cassandraUs64: micros('cluster', AT_64, 'd', 'cassandra'),
    cassandraUs256: micros('cluster', AT_256, 'd', 'cassandra'),
    cassandraPlainUs: micros('many', AT_256, 'd50', 'cassandra'),
    cassandraKeyedUs: micros('many', AT_256, 'k50', 'cassandra'),
    cassandraFewUs: micros('growth', 'instances', '100', 'cassandra'),
    cassandraManyUs: micros('growth', 'instances', '1,000,000', 'cassandra'),
    cassandraColdUs: micros('growth', 'instances', '1,000,000, not in memory', 'cassandra'),
    /** Observations per second and records per group, for one engine at its maximum append rate. */
    observationsPerSecond: figure('growth', 'instances', '100', 'observations/s'),
    groupRecords64: figure('growth', 'instances', '100', 'records per group'),
    /** Resident engine memory in MiB after some calls. */
    engineMiB: figure('instances', 'Memory by stage', 'with 1000 instances', 'resident MiB'),
    /** Resident memory in MiB with 100,000 more instances, each observed once. */
    engineFullMiB: figure('instances', 'Memory by stage', 'each processed once', 'resident MiB'),
    liveBytesPerInstance: figure('instances', 'Bytes each', 'idle instance', 'live bytes'),
    rowBytes: figure('cluster', DISK, 'd and k', 'all'),
    headBytesPerObservation: figure('many', DISK, 'd50 and k50', '`heads`'),
    headObservations: figure('many', DISK, 'd50 and k50', 'observations'),
    answerBytes: figure('many', DISK, 'd50 and k50', '`answers` per key'),
  };
}

/** Measured figures, by name. */
export type MeasuredFigures = Readonly<ReturnType<typeof measuredFigures>>;

/** Largest measured amounts. A plan for more extrapolates. */
export const MEASURED_MOST = {
  instances: 1_000_000,
  activeInstances: 100_000,
  engines: 3,
  cassandraServers: 1,
} as const;
