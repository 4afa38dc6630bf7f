import { type Dashboard, perSecond, quantiles } from '#deploy/observe/dashboards/dashboard';

/** What the engines do: cycles, actors, mailboxes, journals, shards. */
export const ENGINE: Dashboard = {
  id: 'engine',
  title: 'Engine',
  about: 'What the engines do: cycles, actors in memory, waiting calls, journals and shards.',
  panels: [
    {
      title: 'Cycles',
      about: 'Observations applied a second, and those that came within the minimum interval.',
      unit: 'perSecond',
      queries: [
        perSecond('identity_cycles_total', ['result']),
        { ...perSecond('identity_throttled_total'), legend: 'throttled' },
      ],
    },
    {
      title: 'Drift events',
      about: 'Cycles whose drift level was not D0, a second.',
      unit: 'perSecond',
      queries: [perSecond('identity_drift_events_total', ['level'])],
      mayBeEmpty: 'no instance has drifted',
    },
    {
      title: 'Actors in memory',
      about:
        'By engine; they leave by age, and the least recently used first when memory is short.',
      unit: 'count',
      queries: [{ expr: 'identity_actors_active{job="engine"}', legend: '{{instance}} {{actor}}' }],
    },
    {
      title: 'Bytes of actors',
      about: 'Estimated, by engine, against SERVICE_ACTOR_MEMORY_MIB.',
      unit: 'bytes',
      queries: [
        { expr: 'sum by (instance) (identity_actor_bytes{job="engine"})', legend: '{{instance}}' },
      ],
    },
    {
      title: 'Activations',
      about: 'How long it takes to load an actor.',
      unit: 'seconds',
      queries: quantiles('identity_activation_seconds', ['source']),
    },
    {
      title: 'Mailbox wait',
      about: 'How long calls that met others waited for their turn.',
      unit: 'seconds',
      queries: quantiles('identity_mailbox_wait_seconds', ['job']),
      limit: 0.25,
    },
    {
      title: 'Model step',
      about: 'Time of one step of the model; one in 64 is timed.',
      unit: 'seconds',
      queries: quantiles('identity_advance_seconds'),
    },
    {
      title: 'Journal appends',
      about: 'Every answer waits for one.',
      unit: 'seconds',
      queries: quantiles('journal_append_seconds', ['service']),
      limit: 0.1,
    },
    {
      title: 'Records in no checkpoint',
      about: 'The tail that a new owner would have to replay; intake stops at 200,000.',
      unit: 'count',
      queries: [{ expr: 'sum by (instance) (journal_unflushed_records)', legend: '{{instance}}' }],
    },
    {
      title: 'Shards served',
      about: 'By node; the sum should be the number of shards.',
      unit: 'count',
      queries: [
        { expr: 'shards_owned{job!="edge"}', legend: '{{instance}}' },
        { expr: 'sum by (service) (shards_owned)', legend: 'all of {{service}}' },
      ],
    },
    {
      title: 'Shards moved',
      about: 'Gained or given up a second, by reason: takeover is what a failure leaves.',
      unit: 'perSecond',
      queries: [perSecond('shard_moves_total', ['service', 'reason'])],
    },
    {
      title: 'Sealed and fenced',
      about: 'Journals sealed by others, incarnations ended by it, calls sent to the wrong node.',
      unit: 'perSecond',
      queries: [
        { ...perSecond('shard_seals_total', ['reason']), legend: 'sealed, {{reason}}' },
        { ...perSecond('journal_fenced_total', ['service']), legend: 'fenced, {{service}}' },
        { ...perSecond('not_owner_total', ['service']), legend: 'not owner, {{service}}' },
      ],
    },
  ],
};
