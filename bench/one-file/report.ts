import { mebibytes, numberText, spreadOf, spreadText } from '#bench/measures/statistics';
import { COLD_START_MS_MAX } from '#bench/memory/starts';
import type { FileLook } from '#bench/one-file/file-watch';
import { measureOneFile, type OneFileFindings, type Sizes } from '#bench/one-file/measure';
import {
  atMost,
  type Figure,
  type Findings,
  figure,
  type Part,
  type Table,
} from '#bench/page/part';
import { latenciesOf, pageFigure } from '#bench/scale/rates/latencies';

// The load lasts more than twice the maximum delay of a checkpoint.
const FULL: Sizes = {
  instances: 1_000_000,
  rate: 1_000,
  seconds: 300,
  pages: 1_000,
};
const QUICK: Sizes = { instances: 20_000, rate: 200, seconds: 15, pages: 20 };

/**
 * One SQLite file with a million instances: history pages, starts after a clean stop and after a
 * crash, bytes per table, and the size of the journal under a steady load.
 */
export const largeFile: Part = {
  name: 'large-file',
  group: 'file',
  isLong: true,
  title: 'One large file',
  about:
    'A process serves a SQLite file with 1,000,000 instances in one account and 10,000,000 ' +
    'observations. 90 % of the instances have 4 observations, 9 % have 40, 1 % has 280. The ' +
    'benchmark wrote this data in the same form as the checkpoints of the service. `heads` has the ' +
    'newest history rows.',
  missed: 'A start reads the journal from the oldest record that no checkpoint contains.',
  measure: async ({ isQuick, print }) =>
    oneFileFindings(await measureOneFile(isQuick ? QUICK : FULL, print)),
};

/** Share of the load after which the journal is steady: checkpoints lag up to two minutes. */
const STEADY_SHARE = 0.5;

/** Maximum time of the first page of the instance list, in ms. Source: the project's targets. */
const FIRST_PAGE_MS_MAX = 100;

/** Figures and tables of a run. */
function oneFileFindings(found: OneFileFindings): Findings {
  return {
    figures: [...ofStarts(found), ...ofPages(found), ...ofBytes(found)],
    tables: [tablesOf(found)],
    notes: [journalOf(found)],
  };
}

function ofStarts(found: OneFileFindings): Figure[] {
  const { coldStarts, warmStarts, killedWith, killedStart, endMs } = found;
  const start = (what: string, times: readonly number[]) =>
    atMost(
      `time from start to the first answer, ${what}`,
      spreadOf(times).max,
      COLD_START_MS_MAX,
      'ms',
    );
  return [
    start(`after SIGTERM, longest of ${warmStarts.length}`, warmStarts),
    start('after SIGTERM, file not in the page cache', coldStarts),
    figure(
      `time from start to the first answer, after SIGKILL, with ${numberText(killedWith, 0)} ` +
        'records without a checkpoint',
      `${numberText(killedStart, 0)} ms`,
    ),
    figure('time from SIGTERM to the end of the process', `${numberText(endMs, 0)} ms`),
  ];
}

function ofPages({ load, sizes, listings }: OneFileFindings): Figure[] {
  const { p50, p99 } = latenciesOf(load.observed);
  const [first = Number.NaN, next = Number.NaN] = listings;
  const listed = numberText(sizes.instances, 0);
  return [
    pageFigure('latency of a history page, instance not in memory', load.cold),
    pageFigure('latency of a history page, instance in memory', load.warm),
    pageFigure('latency of a history page from row 150 on, which is read from chunks', load.deep),
    figure(
      `latency of observations during these reads, at ${numberText(sizes.rate, 0)}/s: p50, p99`,
      `${numberText(p50, 1)}, ${numberText(p99, 1)} ms`,
    ),
    atMost(
      `latency of the first list page of ${listed} instances after a start`,
      first,
      FIRST_PAGE_MS_MAX,
      'ms',
    ),
    figure('latency of the same page in the next attempt', `${numberText(next, 0)} ms`),
  ];
}

function ofBytes({ filled, sizes, observations, load }: OneFileFindings): Figure[] {
  const { empty, created, observed, createdS, observedS } = filled;
  const each = (bytes: number, count: number) => `${numberText(bytes / count, 0)} bytes`;
  return [
    figure('size of the file with an account and no instance', mebibytes(empty, 1)),
    figure('size of the file with all instances and observations', mebibytes(observed)),
    figure('size of an instance without observations', each(created - empty, sizes.instances)),
    figure('size of an observation', each(observed - created, observations)),
    figure(
      'time to write the instances, then the observations',
      `${numberText(createdS, 0)} s and ${numberText(observedS, 0)} s`,
    ),
    figure('highest resident memory under the load', mebibytes(load.highestBytes)),
  ];
}

/** Table sizes of the file after the load. */
function tablesOf({ bytesByTable, sizes, observations }: OneFileFindings): Table {
  const all = [...bytesByTable].toSorted(([, a], [, b]) => b - a);
  const rows = all
    .filter(([, bytes]) => bytes >= sizes.instances)
    .map(([table, bytes]) => ({
      name: `\`${table}\``,
      cells: [
        mebibytes(bytes, 1),
        Math.round(bytes / sizes.instances),
        Number((bytes / observations).toFixed(1)),
      ],
    }));
  const columns = [
    { name: 'size' },
    { name: 'bytes per instance' },
    { name: 'bytes per observation', decimals: 1 },
  ];
  return { name: 'Tables, with indexes, after the load and a clean stop', columns, rows };
}

function journalOf({ load: { looks }, sizes }: OneFileFindings): string {
  const steady = looks.slice(Math.floor(looks.length * STEADY_SHARE));
  const range = (read: (look: FileLook) => number) => spreadText(spreadOf(steady.map(read)), 0);
  return (
    `In the second half of the load, at ${numberText(sizes.rate, 0)} observations/s, the WAL had ` +
    `${range(({ walBytes }) => walBytes)} bytes. The journal had ` +
    `${range(({ journalRows }) => journalRows)} rows with ` +
    `${range(({ journalBytes }) => journalBytes)} bytes of records.`
  );
}
