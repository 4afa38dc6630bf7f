import { type Dashboard, perSecond, quantiles } from '#deploy/observe/dashboards/dashboard';

const DURATION = 'db_client_operation_duration_seconds';

/** Dashboard of the stores: Cassandra and NATS, as the service sees them. */
export const STORES: Dashboard = {
  id: 'stores',
  title: 'Stores',
  about: 'Cassandra and NATS, as the service sees them.',
  panels: [
    {
      title: 'Statements',
      about: 'Statements per second, by operation.',
      unit: 'perSecond',
      queries: [perSecond(`${DURATION}_count`, ['db_operation_name'])],
    },
    {
      title: 'Duration of statements',
      about: 'p99, by operation.',
      unit: 'seconds',
      queries: quantiles(DURATION, ['db_operation_name'], '{error_type=""}').slice(1),
    },
    {
      title: 'Failed statements by type',
      about: 'Failures per second; only type refused is permanent.',
      unit: 'perSecond',
      queries: [perSecond(`${DURATION}_count`, ['error_type'], '{error_type!=""}')],
      mayBeEmpty: 'no statement has failed',
    },
    {
      title: 'Statements to a second server',
      about:
        'Statements per second that were repeated because the first server was slow or failed.',
      unit: 'perSecond',
      queries: [perSecond('db_client_second_server_total', ['reason'])],
      mayBeEmpty: 'there is a single server, or no server was slow',
    },
    {
      title: 'Appends and groups',
      about: 'Slots and records appended per second; their ratio is the gain of group commit.',
      unit: 'perSecond',
      queries: [
        { ...perSecond('journal_append_seconds_count', ['service']), legend: 'slots, {{service}}' },
        { ...perSecond('journal_group_records_sum', ['service']), legend: 'records, {{service}}' },
      ],
    },
    {
      title: 'Age at a checkpoint',
      about:
        'Time since the first change without a checkpoint; a checkpoint is due after two minutes.',
      unit: 'seconds',
      queries: quantiles('checkpoint_dirty_age_seconds', ['service']),
    },
    {
      title: 'Failed checkpoints',
      about: 'Failures per second; the actors stay in memory, and their checkpoints are retried.',
      unit: 'perSecond',
      queries: [perSecond('checkpoint_failures_total', ['service'])],
    },
    {
      title: 'Takeovers',
      about: 'Records recovered from failed nodes, per second.',
      unit: 'perSecond',
      queries: [perSecond('recovered_records_total', ['service'])],
    },
    {
      title: 'NATS connected',
      about: '1 or 0, by process.',
      unit: 'count',
      queries: [{ expr: 'bus_connected', legend: '{{instance}}' }],
    },
    {
      title: 'Messages dropped',
      about: 'Messages from NATS that failed verification, per second, by reason.',
      unit: 'perSecond',
      queries: [perSecond('bus_dropped_total', ['reason'])],
      mayBeEmpty: 'this installation has no NATS',
    },
  ],
};
