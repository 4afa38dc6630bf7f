import { type Dashboard, perSecond, quantiles } from '#deploy/observe/dashboards/dashboard';

const DURATION = 'db_client_operation_duration_seconds';

/** Cassandra and NATS as the service meets them. */
export const STORES: Dashboard = {
  id: 'stores',
  title: 'Stores',
  about: 'Cassandra and NATS as the service meets them.',
  panels: [
    {
      title: 'Statements',
      about: 'A second, by what they do.',
      unit: 'perSecond',
      queries: [perSecond(`${DURATION}_count`, ['db_operation_name'])],
    },
    {
      title: 'Duration of statements',
      about: 'The 99th percentile, by what they do.',
      unit: 'seconds',
      queries: quantiles(DURATION, ['db_operation_name'], '{error_type=""}').slice(1),
    },
    {
      title: 'Failed statements by type',
      about: 'A second. refused: the server will never take it; all others pass.',
      unit: 'perSecond',
      queries: [perSecond(`${DURATION}_count`, ['error_type'], '{error_type!=""}')],
      mayBeEmpty: 'no statement has failed',
    },
    {
      title: 'Second server asked',
      about: 'Statements answered after a second server had been asked (decision 220).',
      unit: 'perSecond',
      queries: [perSecond('db_client_second_server_total', ['reason'])],
      mayBeEmpty: 'there is one server, or all have been quick',
    },
    {
      title: 'Appends and groups',
      about:
        'Slots written a second, and records a second: their ratio is what a group commit saves.',
      unit: 'perSecond',
      queries: [
        { ...perSecond('journal_append_seconds_count', ['service']), legend: 'slots, {{service}}' },
        { ...perSecond('journal_group_records_sum', ['service']), legend: 'records, {{service}}' },
      ],
    },
    {
      title: 'Age of what is checkpointed',
      about: 'How long actors had been dirty; they are due after two minutes.',
      unit: 'seconds',
      queries: quantiles('checkpoint_dirty_age_seconds', ['service']),
    },
    {
      title: 'Failed checkpoints',
      about: 'A second; what fails stays in memory and is tried again.',
      unit: 'perSecond',
      queries: [perSecond('checkpoint_failures_total', ['service'])],
    },
    {
      title: 'Take-overs',
      about: 'Records recovered from the journals of failed nodes, a second.',
      unit: 'perSecond',
      queries: [perSecond('recovered_records_total', ['service'])],
    },
    {
      title: 'NATS connected',
      about: '1 or 0 by process.',
      unit: 'count',
      queries: [{ expr: 'bus_connected', legend: '{{instance}}' }],
    },
    {
      title: 'Messages dropped',
      about: 'Messages from NATS that were not believed, a second, by reason.',
      unit: 'perSecond',
      queries: [perSecond('bus_dropped_total', ['reason'])],
      mayBeEmpty: 'there is no NATS',
    },
  ],
};
