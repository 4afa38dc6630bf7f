import { closedOf } from '#bench/closed-report';
import type { DurableFindings } from '#bench/durable';
import { DURABLE_CONNECTIONS } from '#bench/durable-rounds';
import { tableOf } from '#bench/report-table';
import { numberText } from '#bench/statistics';
import { TIMER_SLACK_NS } from '#deploy/local/cassandra-server';

/** The durable comparisons as sections, one after the other; none if there was none. */
export function durableReport(
  findings: readonly DurableFindings[],
  checkpointS: number,
): readonly string[] {
  if (findings.length === 0) return [];
  const sections = findings.flatMap((comparison) => [
    ...DURABLE_CONNECTIONS.map((connections) => roundsOf(comparison, connections)),
    diskOf(comparison),
  ]);
  return [noteOf(findings, checkpointS), ...sections];
}

function noteOf(findings: readonly DurableFindings[], checkpointS: number): string {
  const comparisons = findings.map(({ instanceCount, rounds }) => {
    const { size } = new Set(rounds.flatMap(({ results }) => [...results.keys()]));
    return `${size} servers in turns, ${numberText(instanceCount, 0)} instances each`;
  });
  return [
    '## Durable comparison',
    `${comparisons.join('; then ')}; everything on this machine: Cassandra with ` +
      '`commitlog_sync: batch` and a timer slack of ' +
      `${TIMER_SLACK_NS / 1_000} µs, PostgreSQL with \`fsync\` and \`synchronous_commit\` on, ` +
      'SQLite in WAL with `synchronous` FULL. ' +
      'A run goes on in the row of instances where the one before ended, so that each is observed ' +
      'once in as many answers as there are instances. (pg) and (cas) run the same model and answer ' +
      'the same bytes after a look at the API key; they have no limiter. A durable service writes ' +
      `its checkpoints up to 2 min late: it is loaded for ${checkpointS} s before it is measured, ` +
      'and what is left is written before the next server has its turn.',
  ].join('\n\n');
}

function roundsOf({ instanceCount, rounds }: DurableFindings, connections: number): string {
  const heading = `Durable, ${numberText(instanceCount, 0)} instances, ${connections} connections`;
  return closedOf(heading, rounds, connections);
}

/** Tables whose rows are of observations; the others have a few rows, however many those are. */
const TABLES = ['heads', 'history', 'drift', 'journal'] as const;

function diskOf({ instanceCount, disk }: DurableFindings): string {
  if (disk.length === 0) return '';
  const rows = disk.map(({ labels, observations, keyed, bytesByTable }) => {
    const bytesOf = (table: string) => bytesByTable.get(table) ?? 0;
    const parts = TABLES.map(bytesOf);
    const answers = bytesOf('answers');
    const all = [...bytesByTable.values()].reduce((sum, bytes) => sum + bytes, 0) - answers;
    const others = parts.reduce((left, bytes) => left - bytes, all);
    const each = [all, ...parts, others].map((bytes) => numberText(bytes / observations, 1));
    const who = labels.map((label) => `(${label})`).join(' and ');
    const ofAnswers = keyed === 0 ? '' : numberText(answers / keyed, 1);
    return [who, numberText(observations, 0), ...each, numberText(keyed, 0), ofAnswers];
  });
  const head = [
    ...['', 'observations', 'bytes of each', ...TABLES.map((table) => `\`${table}\``), 'others'],
    ...['with a key', '`answers`, bytes of each'],
  ];
  return [
    `## Bytes on disk per observation, ${numberText(instanceCount, 0)} instances`,
    'All files of the tables after the run, each table flushed and compacted into one file, divided ' +
      'by all observations that the instances ever had; of a SQLite file the pages of each table and ' +
      'its indexes once the service has ended. The newest rows of history lie in the heads. The ' +
      'commit log is not in it, and the answers to calls with a key stand apart, divided by these ' +
      'calls.',
    tableOf(head, rows),
  ].join('\n\n');
}
