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
      about: 'Cycles per second with a drift level above D0.',
      unit: 'perSecond',
      queries: [perSecond('identity_drift_events_total', ['level'])],
      mayBeEmpty: 'no instance has drifted',
    },
    {
      title: 'Actors in memory',
      about:
        'By engine. Idle actors are evicted by age, or least recently used first if memory is full.',
      unit: 'count',
      queries: [{ expr: 'identity_actors_active{job="engine"}', legend: '{{instance}} {{actor}}' }],
    },
    {
      title: 'Bytes of actors',
      about:
        'Estimate by engine; SERVICE_ACTOR_MEMORY_MIB limits the bytes of idle actors, by kind.',
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
      about: 'Time that calls waited for earlier calls to the same actor.',
      unit: 'seconds',
      queries: quantiles('identity_mailbox_wait_seconds', ['job']),
      limit: 0.25,
    },
    {
      title: 'Model step',
      about: 'Time of a model step; every 64th step is timed.',
      unit: 'seconds',
      queries: quantiles('identity_advance_seconds'),
    },
    {
      title: 'Journal appends',
      about: 'Time of an append; every answer waits for an append.',
      unit: 'seconds',
      queries: quantiles('journal_append_seconds', ['service']),
      limit: 0.1,
    },
    {
      title: 'Records without a checkpoint',
      about: 'Tail that a new owner must replay; at 200,000, calls get 503.',
      unit: 'count',
      queries: [{ expr: 'sum by (instance) (journal_unflushed_records)', legend: '{{instance}}' }],
    },
    {
      title: 'Log of transitions',
      about: 'Time from a change until it is in the log of its account.',
      unit: 'seconds',
      queries: [
        ...quantiles('transitions_recorded_seconds'),
        { expr: 'max(transitions_unrecorded_seconds)', legend: 'oldest unrecorded' },
      ],
      limit: 2,
    },
    {
      title: 'Shards served',
      about: 'By node; the sum should equal the number of shards.',
      unit: 'count',
      queries: [
        { expr: 'shards_owned{job!="edge"}', legend: '{{instance}}' },
        { expr: 'sum by (service) (shards_owned)', legend: 'all of {{service}}' },
      ],
    },
    {
      title: 'Shards moved',
      about: 'Shards gained or released per second; a takeover follows a failure.',
      unit: 'perSecond',
      queries: [perSecond('shard_moves_total', ['service', 'reason'])],
    },
    {
      title: 'Sealed and fenced',
      about: 'Sealed journals, fenced nodes, and calls to the wrong node, per second.',
      unit: 'perSecond',
      queries: [
        { ...perSecond('shard_seals_total', ['reason']), legend: 'sealed, {{reason}}' },
        { ...perSecond('journal_fenced_total', ['service']), legend: 'fenced, {{service}}' },
        { ...perSecond('not_owner_total', ['service']), legend: 'not owner, {{service}}' },
      ],
    },
  ],
};
