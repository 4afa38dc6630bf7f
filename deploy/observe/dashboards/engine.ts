import { type Dashboard, perSecond, quantiles } from '#deploy/observe/dashboards/dashboard';

/** Dashboard of the engines: cycles, actors, mailboxes, journals, shards. */
export const ENGINE: Dashboard = {
  id: 'engine',
  title: 'Engine',
  about: 'Cycles, actors, waiting calls, journals and shards of the engines.',
  panels: [
    {
      title: 'Cycles',
      about: 'Observations per second, applied and throttled.',
      unit: 'perSecond',
      queries: [
        perSecond('identity_cycles_total', ['result']),
        { ...perSecond('identity_throttled_total'), legend: 'throttled' },
      ],
    },
    {
      title: 'Drift events',
      about: 'Cycles per second with another drift level than D0.',
      unit: 'perSecond',
      queries: [perSecond('identity_drift_events_total', ['level'])],
      mayBeEmpty: 'no instance has drifted',
    },
    {
      title: 'Actors in memory',
      about:
        'By engine. Idle actors are evicted by age, or least recently used first when memory is short.',
      unit: 'count',
      queries: [{ expr: 'identity_actors_active{job="engine"}', legend: '{{instance}} {{actor}}' }],
    },
    {
      title: 'Bytes of actors',
      about: 'Estimate by engine; SERVICE_ACTOR_MEMORY_MIB bounds each kind of idle actor.',
      unit: 'bytes',
      queries: [
        { expr: 'sum by (instance) (identity_actor_bytes{job="engine"})', legend: '{{instance}}' },
      ],
    },
    {
      title: 'Activations',
      about: 'Time to load an actor.',
      unit: 'seconds',
      queries: quantiles('identity_activation_seconds', ['source']),
    },
    {
      title: 'Mailbox wait',
      about: 'Time that calls waited for the turn of their instance.',
      unit: 'seconds',
      queries: quantiles('identity_mailbox_wait_seconds', ['job']),
      limit: 0.25,
    },
    {
      title: 'Model step',
      about: 'Time of one model step; one in 64 is timed.',
      unit: 'seconds',
      queries: quantiles('identity_advance_seconds'),
    },
    {
      title: 'Journal appends',
      about: 'Every answer waits for an append.',
      unit: 'seconds',
      queries: quantiles('journal_append_seconds', ['service']),
      limit: 0.1,
    },
    {
      title: 'Records in no checkpoint',
      about: 'Tail that a new owner must replay; at 200,000, calls get 503.',
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
      about: 'Gained or given up per second; takeover follows a failure.',
      unit: 'perSecond',
      queries: [perSecond('shard_moves_total', ['service', 'reason'])],
    },
    {
      title: 'Sealed and fenced',
      about: 'Journals sealed by others, fenced nodes, calls to the wrong node.',
      unit: 'perSecond',
      queries: [
        { ...perSecond('shard_seals_total', ['reason']), legend: 'sealed, {{reason}}' },
        { ...perSecond('journal_fenced_total', ['service']), legend: 'fenced, {{service}}' },
        { ...perSecond('not_owner_total', ['service']), legend: 'not owner, {{service}}' },
      ],
    },
  ],
};
