import type { Circumstance } from '#bench/measures/machine';
import { mebibytes, numberText, spreadOf, spreadText } from '#bench/measures/statistics';
import type { FileLook } from '#bench/one-file/file-watch';
import type { OneFileFindings } from '#bench/one-file/measure';
import { reportSection } from '#bench/report-page';
import { tableOf, targetTable } from '#bench/report-table';
import { latenciesOf, pageFigure } from '#bench/scale/rates/latencies';
import { atMost, figure, type ScaleFigure } from '#bench/scale/scale-part';
import { COLD_START_MS_MAX, INSTANCE_BYTES_MAX, takeOverMsMax } from '#bench/targets';

/** Share of the load after which the journal is steady: checkpoints lag up to two minutes. */
const STEADY_SHARE = 0.5;

/** Report section of a run. */
export function oneFileReport(
  found: OneFileFindings,
  command: string,
  circumstances: readonly Circumstance[],
): string {
  const { sizes, observations } = found;
  const about =
    `A process serves a SQLite file with ${numberText(sizes.instances, 0)} instances in one ` +
    `account and ${numberText(observations, 0)} observations. 90 % of the instances have 4 ` +
    'observations, 9 % have 40, 1 % has 280. The benchmark wrote this data in the same ' +
    'form as the checkpoints of the service.';
  const heading = { title: 'One large file', about, command, circumstances };
  const tables = [
    targetTable([...ofStarts(found), ...ofPages(found), ...ofBytes(found), ...ofMemory(found)]),
    tablesOf(found),
    journalOf(found),
  ];
  return `${reportSection(heading, tables)}\n`;
}

function ofStarts(found: OneFileFindings): ScaleFigure[] {
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
      'time from start to the first answer, after SIGKILL',
      `${numberText(killedStart, 0)} ms`,
    ),
    atMost(
      `additional time after SIGKILL, with ${numberText(killedWith, 0)} records without a ` +
        'checkpoint; target as in the part `file`',
      killedStart - spreadOf(warmStarts).max,
      takeOverMsMax(killedWith),
      'ms',
    ),
    figure('time from SIGTERM to the end of the process', `${numberText(endMs, 0)} ms`),
  ];
}

function ofPages({ load, sizes, listings }: OneFileFindings): ScaleFigure[] {
  const { p50, p99 } = latenciesOf(load.observed);
  const [first = '', next = ''] = listings;
  const listed = numberText(sizes.instances, 0);
  return [
    pageFigure('latency of a history page, instance not in memory', load.cold),
    pageFigure('latency of a history page, instance in memory', load.warm),
    pageFigure('latency of a history page from row 150 on, which is read from chunks', load.deep),
    figure(
      `latency of observations during these reads, at ${numberText(sizes.rate, 0)}/s: p50, p99`,
      `${numberText(p50, 1)}, ${numberText(p99, 1)} ms`,
    ),
    figure(`latency of the first list page of ${listed} instances`, first),
    figure('latency of the same page in the next attempt', next),
  ];
}

function ofBytes({ filled, sizes, observations }: OneFileFindings): ScaleFigure[] {
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
  ];
}

function ofMemory({ memory, load }: OneFileFindings): ScaleFigure[] {
  const highest = figure('highest resident memory under the load', mebibytes(load.highestBytes));
  if (memory === undefined) return [highest];
  const what = `live memory of an idle instance, mean of ${numberText(memory.instances, 0)}`;
  return [
    highest,
    atMost(what, memory.bytesPerInstance, INSTANCE_BYTES_MAX, 'bytes'),
    figure(
      'live memory of an additional history row',
      `${numberText(memory.bytesPerRow, 0)} bytes`,
    ),
  ];
}

/** Table sizes of the file after the load. */
function tablesOf({ bytesByTable, sizes, observations }: OneFileFindings): string {
  const all = [...bytesByTable].toSorted(([, a], [, b]) => b - a);
  const rows = all
    .filter(([, bytes]) => bytes >= sizes.instances)
    .map(([table, bytes]) => [
      `\`${table}\``,
      mebibytes(bytes, 1),
      numberText(bytes / sizes.instances, 0),
      numberText(bytes / observations, 1),
    ]);
  const note =
    'Sizes include indexes, and were read after the load and a clean stop. `heads` has the newest ' +
    'history rows.';
  const head = ['', 'size', 'bytes per instance', 'bytes per observation'];
  return `### Tables\n\n${note}\n\n${tableOf(head, rows)}`;
}

function journalOf({ load: { looks }, sizes }: OneFileFindings): string {
  const steady = looks.slice(Math.floor(looks.length * STEADY_SHARE));
  const range = (read: (look: FileLook) => number) => spreadText(spreadOf(steady.map(read)), 0);
  const sentence =
    `In the second half of the load, at ${numberText(sizes.rate, 0)} observations/s, the WAL had ` +
    `${range(({ walBytes }) => walBytes)} bytes. The journal had ` +
    `${range(({ journalRows }) => journalRows)} rows with ` +
    `${range(({ journalBytes }) => journalBytes)} bytes of records.`;
  return `### Journal under a steady load\n\n${sentence}`;
}
