import { type Dashboard, perSecond, quantiles } from '#deploy/observe/dashboards/dashboard';
import { allowedOf, errorRatio } from '#deploy/observe/slo-rules';

const COUNT = 'http_server_request_duration_seconds_count';

/** Rate, errors and durations, as callers meet them, and how fast the promises' allowances are spent. */
export const SERVICE: Dashboard = {
  id: 'service',
  title: 'Service',
  about:
    'What callers meet: how many calls, how many fail, how long they take, and what was promised; last, the console.',
  panels: [
    {
      title: 'Requests by route',
      about: 'Answers a second, of all edges.',
      unit: 'perSecond',
      queries: [perSecond(COUNT, ['http_route'])],
    },
    {
      title: 'Answers by status',
      about: '429 and 402 are limits of accounts; 503 is what the objective counts.',
      unit: 'perSecond',
      queries: [perSecond(COUNT, ['http_response_status_code'])],
    },
    {
      title: 'Duration of process calls',
      about: '99 % are promised within 50 ms.',
      unit: 'seconds',
      queries: quantiles(
        'http_server_request_duration_seconds',
        [],
        '{http_route="/instances/:id/process",http_response_status_code=~"2.."}',
      ),
      limit: 0.05,
    },
    {
      title: 'Where the time goes',
      about:
        'The 99th percentile of the parts of a call: limiter, engine as the edge sees it, journal.',
      unit: 'seconds',
      queries: [
        part('limiter_check_duration_seconds', 'limiter check'),
        part('rpc_client_call_duration_seconds', 'call to {{rpc_service}}', 'rpc_service, '),
        part('journal_append_seconds', 'append, {{service}}', 'service, '),
      ],
    },
    {
      title: 'Errors by route and status',
      about: '5xx a second.',
      unit: 'perSecond',
      queries: [
        perSecond(
          COUNT,
          ['http_route', 'http_response_status_code'],
          '{http_response_status_code=~"5.."}',
        ),
      ],
      mayBeEmpty: 'there have been no errors',
    },
    {
      title: 'Errors by reason',
      about:
        'What the edge could not get: an answer of a limiter, or of an engine at the first try.',
      unit: 'perSecond',
      queries: [
        { ...perSecond('edge_fail_closed_total', ['reason']), legend: 'fail closed, {{reason}}' },
        { ...perSecond('edge_retries_total', ['reason']), legend: 'tried again, {{reason}}' },
      ],
    },
    ...(['availability', 'latency'] as const).map((objective) => ({
      title: `Burn rate of ${objective}`,
      about:
        'How many times too fast the allowance is spent; 1 leaves nothing at the end of a month.',
      unit: 'count' as const,
      queries: ['5m', '1h', '6h'].map((window) => ({
        expr: `${errorRatio(objective, window)} / ${allowedOf(objective)}`,
        legend: window,
      })),
      limit: 14.4,
    })),
    {
      title: 'Calls under way',
      about: 'Admitted and not answered, by edge.',
      unit: 'count',
      queries: [{ expr: 'edge_inflight{job="edge"}', legend: '{{instance}}' }],
    },
    {
      title: 'Event loops',
      about:
        'Share of the time in which each process computes; above 0.85 calls wait for each other.',
      unit: 'share',
      queries: [{ expr: 'nodejs_eventloop_utilization', legend: '{{instance}}' }],
      limit: 0.85,
    },
    {
      title: 'Console: answers by status',
      about:
        'A second, of all consoles; 401 is a sign-in that was refused, 503 an audit trail away.',
      unit: 'perSecond',
      queries: [perSecond('console_request_duration_seconds_count', ['http_response_status_code'])],
      mayBeEmpty: 'no one has opened the console',
    },
    {
      title: 'Console: sign-ins by outcome',
      about: 'Tries a second; too_early: before the wait after a failure was over.',
      unit: 'perSecond',
      queries: [perSecond('console_sign_ins_total', ['step', 'outcome'])],
      mayBeEmpty: 'no one has signed in',
    },
  ],
};

function part(metric: string, legend: string, by = '') {
  const expr = `histogram_quantile(0.99, sum by (${by}le) (rate(${metric}_bucket[1m])))`;
  return { expr, legend };
}
