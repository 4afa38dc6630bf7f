import type { DurableFindings } from '#bench/durable/measure';
import { DURABLE_CONNECTIONS } from '#bench/durable/rounds';
import { closedOf } from '#bench/load/closed-report';
import { numberText } from '#bench/measures/statistics';
import type { Label } from '#bench/processes/servers';
import { tableOf } from '#bench/report-table';
import { TIMER_SLACK_NS } from '#deploy/local/servers/cassandra-server';

/** Report sections of the durable comparisons; empty without comparisons. */
export function durableReport(
  findings: readonly DurableFindings[],
  checkpointS: number,
): readonly string[] {
  if (findings.length === 0) return [];
  const sections = findings.flatMap((comparison) =>
    DURABLE_CONNECTIONS.map((connections, index) => roundsOf(comparison, connections, index === 0)),
  );
  return [noteOf(findings, checkpointS), ...sections, diskOf(findings)];
}

function noteOf(findings: readonly DurableFindings[], checkpointS: number): string {
  const comparisons = findings.map(({ instanceCount, rounds }) => {
    const compared = new Set(rounds.flatMap(({ results }) => [...results.keys()]));
    const instances = `${numberText(instanceCount, 0)} instances`;
    return compared.size === 2 && compared.has('c') && compared.has('e')
      ? `The two servers took turns. Server (e) has ${instances}.`
      : `${compared.size} servers took turns, with ${instances} each.`;
  });
  const runs = findings.flatMap(({ rounds }) => rounds);
  const labels = new Set(runs.flatMap(({ results }) => [...results.keys()]));
  const isAny = (...some: readonly Label[]) => some.some((label) => labels.has(label));
  const isBesidePostgres = isAny('pg', 'cas', 'pg50', 'cas50');
  const settings = [
    ...(isAny('d', 'd3', 'k', 'd50', 'k50') ? [CASSANDRA_SETTINGS] : []),
    ...(isBesidePostgres ? ['PostgreSQL has `fsync` and `synchronous_commit` on'] : []),
    ...(isAny('e', 'ke') ? ['SQLite has a WAL with `synchronous` FULL'] : []),
  ];
  const isOnFileOnly = settings.length === 1 && isAny('e', 'ke');
  const synced = isOnFileOnly
    ? 'SQLite syncs each commit to disk before (e) answers (WAL, `synchronous` FULL). '
    : `All stores sync to disk before they answer: ${settings.join(', ')}. `;
  return [
    '## Durable comparison',
    `${comparisons.join(' Then ')} ${synced}` +
      `The load observes all instances in turn. ${isBesidePostgres ? POSTGRES_NOTE : ''}` +
      'The service stores the state of instances in checkpoints, up to 2 min after an observation. ' +
      `Each measurement of the service begins after ${checkpointS} s of load, when checkpoints run ` +
      'steadily. Load on the next server starts only when the previous server has no pending ' +
      'checkpoint.',
  ].join('\n\n');
}

const CASSANDRA_SETTINGS = `Cassandra has \`commitlog_sync: batch\` and a timer slack of ${TIMER_SLACK_NS / 1_000} µs`;

const POSTGRES_NOTE =
  '(pg) and (cas) run the same model, check the API key and answer the same bytes, but have no ' +
  'limiter. ';

const CASSANDRA_DISK = 'Sizes are table files after flush and compaction, without the commit log.';

const SQLITE_DISK = 'A size is the total size of the SQLite pages of a table and its indexes.';

const DISK_NOTE =
  'Each size is divided by the number of observations. `heads` contains the newest history rows. ' +
  '"With a key" is the number of calls with an `Idempotency-Key`. The size of `answers` is divided ' +
  'by this number.';

function roundsOf(
  { instanceCount, rounds }: DurableFindings,
  connections: number,
  isNamed: boolean,
): string {
  const heading = `Durable, ${numberText(instanceCount, 0)} instances, ${connections} connections`;
  return closedOf(heading, rounds, connections, isNamed);
}

/**
 * Tables with a column in the report. Their size grows with the number of observations. `answers`
 * has a separate column. All other tables are small and share the column `others`.
 */
const TABLES = ['heads', 'history', 'drift', 'journal'] as const;

function diskOf(findings: readonly DurableFindings[]): string {
  const disk = findings.flatMap((comparison) => comparison.disk);
  if (disk.length === 0) return '';
  const rows = disk.map(({ labels, observations, keyed, bytesByTable }) => {
    const bytesOf = (table: string) => bytesByTable.get(table) ?? 0;
    const parts = TABLES.map(bytesOf);
    const answers = bytesOf('answers');
    const all = [...bytesByTable.values()].reduce((sum, bytes) => sum + bytes, 0) - answers;
    const others = parts.reduce((left, bytes) => left - bytes, all);
    const each = [all, ...parts, others].map((bytes) => numberText(bytes / observations, 1));
    const names = labels.map((label) => `(${label})`).join(' and ');
    const answersEach = keyed === 0 ? '' : numberText(answers / keyed, 1);
    return [names, numberText(observations, 0), ...each, numberText(keyed, 0), answersEach];
  });
  const head = [
    ...['', 'observations', 'bytes each', ...TABLES.map((table) => `\`${table}\``), 'others'],
    ...['with a key', '`answers`, bytes each'],
  ];
  const isOnFile = disk.every(({ labels }) => labels.includes('e') || labels.includes('ke'));
  const note = `${isOnFile ? SQLITE_DISK : CASSANDRA_DISK} ${DISK_NOTE}`;
  return ['## Bytes on disk per observation', note, tableOf(head, rows)].join('\n\n');
}
