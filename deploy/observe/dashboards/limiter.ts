import { type Dashboard, perSecond, quantiles } from '#deploy/observe/dashboards/dashboard';

/** Dashboard of the limiters: decisions, durations, and the cost of failures. */
export const LIMITER: Dashboard = {
  id: 'limiter',
  title: 'Limiter',
  about: 'Decisions of the limiters, their duration, and the cost of failures.',
  panels: [
    {
      title: 'Decisions',
      about: 'Admissions per second, by decision.',
      unit: 'perSecond',
      queries: [perSecond('limiter_checks_total', ['decision'])],
    },
    {
      title: 'Duration of a check',
      about: 'Measured by edges, which refuse calls after the timeout (default 100 ms).',
      unit: 'seconds',
      queries: quantiles('limiter_check_duration_seconds'),
      limit: 0.1,
    },
    {
      title: 'Fail closed by reason',
      about: 'Calls per second that edges refused because no limiter answered.',
      unit: 'perSecond',
      queries: [perSecond('edge_fail_closed_total', ['reason'])],
    },
    {
      title: 'Refused without asking',
      about:
        'Calls per second that edges refused: keys over a limit, addresses with many wrong keys.',
      unit: 'perSecond',
      queries: [
        { ...perSecond('edge_refused_unasked_total'), legend: 'limited' },
        { ...perSecond('edge_unknown_keys_not_looked_up_total'), legend: 'not looked up' },
      ],
    },
    {
      title: 'Raising watermarks',
      about: 'Time until a new watermark is durable; calls above the old watermark wait.',
      unit: 'seconds',
      queries: quantiles('limiter_watermark_raise_seconds', ['watermark']),
    },
    {
      title: 'Messages in a frame',
      about: 'Calls that arrive together, in the same event-loop turn.',
      unit: 'count',
      queries: quantiles('limiter_frame_messages'),
    },
    {
      title: 'Cycles charged and not used',
      about: 'Cycles per second, lost by expired reservations, crashes and lost settlements.',
      unit: 'perSecond',
      queries: [
        perSecond('limiter_lost_cycles_total', ['cause']),
        { ...perSecond('edge_unsettled_total'), legend: 'unsettled calls' },
      ],
    },
    {
      title: 'Meters in memory',
      about: 'Active accounts, by limiter.',
      unit: 'count',
      queries: [{ expr: 'identity_actors_active{job="limiter"}', legend: '{{instance}}' }],
    },
  ],
};
