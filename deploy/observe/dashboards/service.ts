import { type Dashboard, perSecond, quantiles } from '#deploy/observe/dashboards/dashboard';
import { allowedOf, errorRatio } from '#deploy/observe/slo-rules';

const COUNT = 'http_server_request_duration_seconds_count';

/** Dashboard of the service as callers see it: rates, errors, durations, and burn rates of error budgets. */
export const SERVICE: Dashboard = {
  id: 'service',
  title: 'Service',
  about: 'Calls, errors, durations and objectives of the API; the console.',
  panels: [
    {
      title: 'Requests by route',
      about: 'Answers per second of all edges.',
      unit: 'perSecond',
      queries: [perSecond(COUNT, ['http_route'])],
    },
    {
      title: 'Answers by status',
      about:
        'Answers per second. 500, 502, 503 and 504 count against availability; 429 is a caller over its limit.',
      unit: 'perSecond',
      queries: [perSecond(COUNT, ['http_response_status_code'])],
    },
    {
      title: 'Duration of process calls',
      about: 'Median and p99 of successful calls. The objective is 99 % within 50 ms.',
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
      about: 'p99 of limiter check, engine call and journal append.',
      unit: 'seconds',
      queries: [
        part('limiter_check_duration_seconds', 'limiter check'),
        part('rpc_client_call_duration_seconds', 'call to {{rpc_service}}', 'rpc_service, '),
        part('journal_append_seconds', 'append, {{service}}', 'service, '),
      ],
    },
    {
      title: 'Errors by route and status',
      about: '5xx per second.',
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
      about: 'Refusals because no limiter answered, and retries, per second.',
      unit: 'perSecond',
      queries: [
        { ...perSecond('edge_fail_closed_total', ['reason']), legend: 'fail closed, {{reason}}' },
        { ...perSecond('edge_retries_total', ['reason']), legend: 'retried, {{reason}}' },
      ],
    },
    {
      title: 'Observations of fleet calls',
      about:
        'Results per second, by status. A fleet call is 200 even if engines fail: watch `unknown`.',
      unit: 'perSecond',
      queries: [perSecond('edge_fleet_observations_total', ['status'])],
    },
    ...(['availability', 'latency'] as const).map((objective) => ({
      title: `Burn rate of ${objective}`,
      about: 'Speed at which errors spend the error budget; at 1, the budget lasts a month.',
      unit: 'count' as const,
      queries: ['5m', '1h', '6h'].map((window) => ({
        expr: `${errorRatio(objective, window)} / ${allowedOf(objective)}`,
        legend: window,
      })),
      limit: 14.4,
    })),
    {
      title: 'Calls under way',
      about: 'Admitted calls without an answer, by edge.',
      unit: 'count',
      queries: [{ expr: 'edge_inflight{job="edge"}', legend: '{{instance}}' }],
    },
    {
      title: 'Event loops',
      about: 'Busy share of time; above 0.85, calls wait for each other.',
      unit: 'share',
      queries: [{ expr: 'nodejs_eventloop_utilization', legend: '{{instance}}' }],
      limit: 0.85,
    },
    {
      title: 'Console: answers by status',
      about: 'Answers per second; 401 is a refused sign-in, 503 an unavailable audit trail.',
      unit: 'perSecond',
      queries: [perSecond('console_request_duration_seconds_count', ['http_response_status_code'])],
      mayBeEmpty: 'no one has opened the console',
    },
    {
      title: 'Console: sign-ins by outcome',
      about: 'Attempts per second; too_early came before the end of a required wait.',
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
