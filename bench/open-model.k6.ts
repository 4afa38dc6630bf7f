import { scenario } from 'k6/execution';
import { post } from 'k6/http';
import type { Options } from 'k6/options';
import { MODES } from '../loadtest/mix.ts';

// The open model: requests start at a fixed rate whatever the answers do, as independent agents
// would. Run by open-model.ts, which gives address, key, instances, times and rate.

/** Requests that may be under way at once; more wanted means dropped iterations and a void row. */
const UNDER_WAY_MAX = 300;

/** Seconds at the beginning that are not reported: connections are opened, code is warmed. */
const WARM_UP_S = 2;

const address = __ENV['ADDRESS'] ?? '';
const rate = Number(__ENV['RATE']);
const seconds = Number(__ENV['SECONDS']);
const firstS = Number(__ENV['FIRST_S']);
const headers = {
  authorization: `Bearer ${__ENV['KEY']}`,
  'content-type': 'application/json',
};
const stepS = Number(__ENV['STEP_S']);
const instances = open(__ENV['INSTANCES'] ?? '')
  .trim()
  .split('\n')
  .map((line) => line.split(' '));

/** One stream of arrivals at a fixed rate. */
export const options: Options = {
  discardResponseBodies: true,
  summaryTrendStats: ['p(50)', 'p(99)', 'max'],
  scenarios: {
    arrivals: {
      executor: 'constant-arrival-rate',
      exec: 'observe',
      rate,
      timeUnit: '1s',
      duration: `${WARM_UP_S + seconds}s`,
      preAllocatedVUs: UNDER_WAY_MAX,
      maxVUs: UNDER_WAY_MAX,
    },
  },
  // A threshold makes k6 keep the figures of one phase apart.
  thresholds: { 'http_req_duration{phase:measured}': ['max>=0'] },
};

/** One observation, near what the agent usually is. The instances take turns, as in process.lua. */
export function observe(): void {
  const n = scenario.iterationInTest;
  const [id = '', ...strengths] = instances[n % instances.length] ?? [];
  const second = firstS + Math.floor(n / instances.length) * stepS;
  const mode = n % MODES.length;
  const signal = Number(strengths[mode]) + ((n % 5) - 2) * 0.04;
  const body = {
    mode_target: MODES[mode],
    signal_strength: Math.min(1, Math.max(0, signal)),
    confidence: 0.6 + (n % 4) * 0.1,
    context: { channel: 'chat', turn: n % 101 },
    timestamp: new Date(second * 1_000).toISOString(),
  };
  const phase = n < rate * WARM_UP_S ? 'warm-up' : 'measured';
  const url = `${address}/v1/instances/${id}/process`;
  post(url, JSON.stringify(body), { headers, tags: { name: 'process', phase } });
}

/** One JSON line on standard output instead of k6's own summary. */
export function handleSummary(data: { metrics: unknown }): Record<string, string> {
  return { stdout: `RESULT ${JSON.stringify(data.metrics)}\n` };
}
