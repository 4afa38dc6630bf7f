import { type Dashboard, perSecond, quantiles } from '#deploy/observe/dashboards/dashboard';

const OF_K6 = 'k6 writes it while a load test runs, by remote write';

/** Dashboard of a load test: figures of k6 beside those of the service. */
export const LOAD_TEST: Dashboard = {
  id: 'load-test',
  title: 'Load test',
  about: 'k6 beside the service: both should show the same.',
  panels: [
    {
      title: 'Requests, by k6',
      about: 'Begun per second, by route.',
      unit: 'perSecond',
      queries: [perSecond('k6_http_reqs_total', ['name'])],
      mayBeEmpty: OF_K6,
    },
    {
      title: 'Requests, by the edges',
      about: 'Answered per second.',
      unit: 'perSecond',
      queries: [perSecond('http_server_request_duration_seconds_count', ['http_route'])],
    },
    {
      title: 'Duration, by k6',
      about: '99th percentile, with network and waiting.',
      unit: 'seconds',
      queries: [{ expr: 'max by (name) (k6_http_req_duration_p99)', legend: '{{name}}' }],
      mayBeEmpty: OF_K6,
    },
    {
      title: 'Duration, by the edges',
      about: 'From the first byte of a request to its answer.',
      unit: 'seconds',
      queries: quantiles('http_server_request_duration_seconds'),
    },
    {
      title: 'Dropped iterations',
      about: 'Any value above 0 voids a result: k6 began calls late.',
      unit: 'perSecond',
      queries: [{ ...perSecond('k6_dropped_iterations_total'), legend: 'dropped' }],
      mayBeEmpty: OF_K6,
    },
    {
      title: 'Virtual users',
      about: 'Calls that k6 has open at once.',
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
