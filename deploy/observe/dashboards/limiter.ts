import { type Dashboard, perSecond, quantiles } from '#deploy/observe/dashboards/dashboard';

/** What the limiters decide, how fast, and what failures cost the accounts. */
export const LIMITER: Dashboard = {
  id: 'limiter',
  title: 'Limiter',
  about: 'What the limiters decide, how fast, and what failures cost the accounts.',
  panels: [
    {
      title: 'Decisions',
      about: 'Admissions a second, by what was decided.',
      unit: 'perSecond',
      queries: [perSecond('limiter_checks_total', ['decision'])],
    },
    {
      title: 'Duration of a check',
      about:
        'As the edge sees it; above its time-out (100 ms unless configured) calls are refused.',
      unit: 'seconds',
      queries: quantiles('limiter_check_duration_seconds'),
      limit: 0.1,
    },
    {
      title: 'Fail closed by reason',
      about: 'Calls refused because no limiter gave an answer.',
      unit: 'perSecond',
      queries: [perSecond('edge_fail_closed_total', ['reason'])],
    },
    {
      title: 'Refused without asking',
      about: 'Calls of keys known to be over their limit, and of addresses with many refused keys.',
      unit: 'perSecond',
      queries: [
        { ...perSecond('edge_refused_unasked_total'), legend: 'limited' },
        { ...perSecond('edge_unknown_keys_not_looked_up_total'), legend: 'not looked up' },
      ],
    },
    {
      title: 'Raising watermarks',
      about: 'Time until the journal held a raise; calls above the old one wait for it.',
      unit: 'seconds',
      queries: quantiles('limiter_watermark_raise_seconds', ['watermark']),
    },
    {
      title: 'Messages in a frame',
      about: 'How many calls of one event-loop turn arrive together.',
      unit: 'count',
      queries: quantiles('limiter_frame_messages'),
    },
    {
      title: 'Cycles charged and not used',
      about:
        'By cause: reservations that expired, and crashes; beside them settlements that were lost.',
      unit: 'perSecond',
      queries: [
        perSecond('limiter_lost_cycles_total', ['cause']),
        { ...perSecond('edge_unsettled_total'), legend: 'unsettled calls' },
      ],
    },
    {
      title: 'Meters in memory',
      about: 'Accounts whose counts a limiter holds.',
      unit: 'count',
      queries: [{ expr: 'identity_actors_active{job="limiter"}', legend: '{{instance}}' }],
    },
  ],
};
