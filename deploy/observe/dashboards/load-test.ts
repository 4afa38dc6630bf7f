import { type Dashboard, perSecond, quantiles } from '#deploy/observe/dashboards/dashboard';

const OF_K6 = 'k6 writes it while a load test runs, by remote write';

/** What a load test sends beside what the service sees of it. */
export const LOAD_TEST: Dashboard = {
  id: 'load-test',
  title: 'Load test',
  about: 'What k6 sends, beside what the service sees of it: both should say the same.',
  panels: [
    {
      title: 'Requests as k6 counts them',
      about: 'Begun a second, by route.',
      unit: 'perSecond',
      queries: [perSecond('k6_http_reqs_total', ['name'])],
      mayBeEmpty: OF_K6,
    },
    {
      title: 'Requests as the edges count them',
      about: 'Answered a second.',
      unit: 'perSecond',
      queries: [perSecond('http_server_request_duration_seconds_count', ['http_route'])],
    },
    {
      title: 'Duration as k6 sees it',
      about: 'The 99th percentile, network and waiting included.',
      unit: 'seconds',
      queries: [{ expr: 'max by (name) (k6_http_req_duration_p99)', legend: '{{name}}' }],
      mayBeEmpty: OF_K6,
    },
    {
      title: 'Duration as the edges see it',
      about: 'From the first byte of a request to its answer.',
      unit: 'seconds',
      queries: quantiles('http_server_request_duration_seconds'),
    },
    {
      title: 'Dropped iterations',
      about: 'Any at all voids a result: k6 could not begin calls when they were due.',
      unit: 'perSecond',
      queries: [{ ...perSecond('k6_dropped_iterations_total'), legend: 'dropped' }],
      mayBeEmpty: OF_K6,
    },
    {
      title: 'Virtual users',
      about: 'How many calls k6 has under way at once.',
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
      about: 'Processor seconds a second, by process.',
      unit: 'count',
      queries: [{ expr: 'rate(process_cpu_seconds_total[1m])', legend: '{{instance}}' }],
    },
  ],
};
