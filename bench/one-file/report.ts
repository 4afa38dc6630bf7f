import type { Circumstance } from '#bench/machine';
import type { FileLook } from '#bench/one-file/file-watch';
import type { OneFileFindings } from '#bench/one-file/measure';
import { reportPage, tableOf, verdict } from '#bench/report-table';
import { latenciesOf, pageFigures } from '#bench/scale/latencies';
import { atMost, figure, type ScaleFigure } from '#bench/scale/scale-part';
import { mebibytes, numberText, spreadOf, spreadText } from '#bench/statistics';
import { COLD_START_MS_MAX, INSTANCE_BYTES_MAX, takeOverMsMax } from '#bench/targets';

/** Rows of the table of the journal over time, about. */
const LOOKS_SHOWN = 12;

/** The share of the load at whose end everything is steady: a checkpoint is up to two minutes late. */
const STEADY_SHARE = 0.5;

/** The page of a run. */
export function oneFileReport(
  found: OneFileFindings,
  command: string,
  circumstances: readonly Circumstance[],
): string {
  const { sizes, observations } = found;
  const about =
    `One process, one SQLite file with ${numberText(sizes.instances, 0)} instances of one account and ` +
    `${numberText(observations, 0)} observations: of a hundred instances 90 have 4, 9 have 40, and one ` +
    'has 280. They were not sent: the model and the packing of the engine made a history of each ' +
    'kind, and the storage ports wrote them for every instance as checkpoints do, the heads of a ' +
    'bucket together. All that is measured is then asked of the service. The caller shares the machine.';
  const heading = { title: 'One file', about, command, circumstances };
  const tables = [
    `## Figures\n\n${figuresTable([...ofStarts(found), ...ofPages(found), ...ofBytes(found), ...ofMemory(found)])}`,
    tablesOf(found),
    journalOf(found),
  ];
  return `${reportPage(heading, tables)}\n`;
}

function figuresTable(figures: readonly ScaleFigure[]): string {
  const rows = figures.map(({ what, target, reached, isMet }) => {
    return [what, target, reached, target === '' ? '' : verdict(isMet)];
  });
  return tableOf(['', 'target', 'reached', ''], rows);
}

function ofStarts(found: OneFileFindings): ScaleFigure[] {
  const { coldStarts, warmStarts, killedWith, killedStart, endMs } = found;
  const start = (what: string, times: readonly number[]) =>
    atMost(`start to first answer, ${what}`, spreadOf(times).max, COLD_START_MS_MAX, 'ms');
  return [
    start(`after SIGTERM, longest of ${warmStarts.length}`, warmStarts),
    start(`the same, the file not in the system's cache`, coldStarts),
    figure('the same after SIGKILL', `${numberText(killedStart, 0)} ms`),
    atMost(
      `what ${numberText(killedWith, 0)} records not stored have added`,
      killedStart - spreadOf(warmStarts).max,
      takeOverMsMax(killedWith),
      'ms',
    ),
    figure('SIGTERM to the end, as many instances in memory', `${numberText(endMs, 0)} ms`),
  ];
}

function ofPages({ load, sizes, listings }: OneFileFindings): ScaleFigure[] {
  const { p50, p99 } = latenciesOf(load.observed);
  const [first = '', next = ''] = listings.map((ms) =>
    Number.isNaN(ms) ? 'none' : `${numberText(ms, 0)} ms`,
  );
  const listed = numberText(sizes.instances, 0);
  return [
    ...pageFigures('a page of the history, nothing of it in memory', load.cold),
    ...pageFigures('the same page again', load.warm),
    ...pageFigures('a page from the 150th row on, of chunks', load.deep),
    figure(
      `${numberText(sizes.rate, 0)} observations/s meanwhile, p50 and p99`,
      `${numberText(p50, 1)} and ${numberText(p99, 1)} ms`,
    ),
    figure(`the first page of the list of ${listed}`, first),
    figure('the same page of the list again', next),
  ];
}

function ofBytes({ filled, sizes, observations }: OneFileFindings): ScaleFigure[] {
  const { empty, created, observed, createdS, observedS } = filled;
  const each = (bytes: number, count: number) => `${numberText(bytes / count, 0)} bytes`;
  return [
    figure('the file, an account alone', mebibytes(empty, 1)),
    figure('the file, all instances and observations', mebibytes(observed)),
    figure('of an instance without observations', each(created - empty, sizes.instances)),
    figure('of an observation besides', each(observed - created, observations)),
    figure('to write these', `${numberText(createdS, 0)} s and ${numberText(observedS, 0)} s`),
  ];
}

function ofMemory({ memory, load }: OneFileFindings): ScaleFigure[] {
  const highest = figure('highest resident size under the load', mebibytes(load.highestBytes));
  if (memory === undefined) return [highest];
  const what = `live bytes of an idle instance of ${numberText(memory.instances, 0)}`;
  return [
    highest,
    atMost(what, memory.bytesPerInstance, INSTANCE_BYTES_MAX, 'bytes'),
    figure('of one more row of its history', `${numberText(memory.bytesPerRow, 0)} bytes`),
  ];
}

/** Of the file at the end, after the load. */
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
    'Pages of each table with its indexes after the load and a good end. The newest rows of the ' +
    'history lie in the heads.';
  const head = ['', 'size', 'bytes per instance', 'bytes per observation'];
  return `## Tables\n\n${note}\n\n${tableOf(head, rows)}`;
}

function journalOf({ load: { looks }, sizes }: OneFileFindings): string {
  const every = Math.max(1, Math.floor(looks.length / LOOKS_SHOWN));
  const row = (look: FileLook) => [
    numberText(look.atS, 0),
    mebibytes(look.walBytes, 1),
    numberText(look.journalRows, 0),
    mebibytes(look.journalBytes, 1),
    numberText(look.unflushed, 0),
    mebibytes(look.fileBytes),
  ];
  const steady = looks.slice(Math.floor(looks.length * STEADY_SHARE));
  const range = (read: (look: FileLook) => number) => spreadText(spreadOf(steady.map(read)), 0);
  const sentence =
    `${numberText(sizes.rate, 0)} observations a second. In the last half the WAL has ` +
    `${range(({ walBytes }) => walBytes)} bytes and the journal ${range(({ journalRows }) => journalRows)} ` +
    `rows with ${range(({ journalBytes }) => journalBytes)} bytes of records.`;
  const head = ['s', 'WAL', 'journal rows', 'their records', 'records not stored', 'file'];
  const shown = looks.filter((_, i) => i % every === 0).map(row);
  return `## The journal under a steady load\n\n${sentence}\n\n${tableOf(head, shown)}`;
}
