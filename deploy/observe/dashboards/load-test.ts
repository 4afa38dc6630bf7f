import { type Dashboard, perSecond, quantiles } from '#deploy/observe/dashboards/dashboard';

const OF_K6 = 'only a load test writes these series';

/** Dashboard of a load test: figures of k6 and of the service. */
export const LOAD_TEST: Dashboard = {
  id: 'load-test',
  title: 'Load test',
  about: 'Figures of k6 and of the service, which should agree.',
  panels: [
    {
      title: 'Requests, by k6',
      about: 'Requests started per second, by route.',
      unit: 'perSecond',
      queries: [perSecond('k6_http_reqs_total', ['name'])],
      mayBeEmpty: OF_K6,
    },
    {
      title: 'Requests, by the edges',
      about: 'Answers per second, by route.',
      unit: 'perSecond',
      queries: [perSecond('http_server_request_duration_seconds_count', ['http_route'])],
    },
    {
      title: 'Duration, by k6',
      about: 'p99, including network and waiting.',
      unit: 'seconds',
      queries: [{ expr: 'max by (name) (k6_http_req_duration_p99)', legend: '{{name}}' }],
      mayBeEmpty: OF_K6,
    },
    {
      title: 'Duration, by the edges',
      about: 'Median and p99, from the first byte of a request to its answer.',
      unit: 'seconds',
      queries: quantiles('http_server_request_duration_seconds'),
    },
    {
      title: 'Dropped iterations',
      about: 'Any value above 0 voids the result: k6 could not start requests in time.',
      unit: 'perSecond',
      queries: [{ ...perSecond('k6_dropped_iterations_total'), legend: 'dropped' }],
      mayBeEmpty: OF_K6,
    },
    {
      title: 'Virtual users',
      about: 'Virtual users of k6; each has at most one call in flight.',
      unit: 'count',
      queries: [{ expr: 'sum(k6_vus)', legend: 'users' }],
      mayBeEmpty: OF_K6,
    },
    {
      title: 'Memory of the processes',
      about: 'Resident bytes; flat in a soak test.',
      unit: 'bytes',
      queries: [{ expr: 'process_resident_memory_bytes', legend: '{{instance}}' }],
    },
    {
      title: 'Cores in use',
      about: 'CPU seconds per second, by process.',
      unit: 'count',
      queries: [{ expr: 'rate(process_cpu_seconds_total[1m])', legend: '{{instance}}' }],
    },
  ],
};
