import { scenario } from 'k6/execution';
import { post } from 'k6/http';
import type { Options } from 'k6/options';

// The open model: requests start at a fixed rate whatever the answers do, as independent agents
// would. Run by open-model.ts, which gives address, key, instance ids, first second and rate.

const MODES = [
  'PERCEPTION',
  'EXPLORATION',
  'ORDER',
  'ASSERTION',
  'CONNECTION',
  'IDENTITY',
  'STRESS_RESPONSE',
] as const;

/** Requests that may be under way at once; more wanted means dropped iterations and a void row. */
const UNDER_WAY_MAX = 300;

/** Seconds at the beginning that are not reported: connections are opened, code is warmed. */
const WARM_UP_S = 2;

const address = __ENV.ADDRESS ?? '';
const rate = Number(__ENV.RATE);
const seconds = Number(__ENV.SECONDS);
const firstS = Number(__ENV.FIRST_S);
const headers = {
  authorization: `Bearer ${__ENV.KEY}`,
  'content-type': 'application/json',
};
const ids = open(__ENV.IDS ?? '')
  .trim()
  .split('\n');

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

/** One observation. The instances take turns, and every turn is one second later (spec 8.3). */
export function observe(): void {
  const n = scenario.iterationInTest;
  const second = firstS + Math.floor(n / ids.length);
  const body = {
    mode_target: MODES[n % MODES.length],
    signal_strength: 0.3 + (n % 5) * 0.07,
    confidence: 0.6 + (n % 4) * 0.1,
    context: { channel: 'chat', turn: n % 101 },
    timestamp: new Date(second * 1_000).toISOString(),
  };
  const url = `${address}/v1/instances/${ids[n % ids.length]}/process`;
  const phase = n < rate * WARM_UP_S ? 'warm-up' : 'measured';
  post(url, JSON.stringify(body), { headers, tags: { name: 'process', phase } });
}

/** One JSON line on standard output instead of k6's own summary. */
export function handleSummary(data: { metrics: unknown }): Record<string, string> {
  return { stdout: `RESULT ${JSON.stringify(data.metrics)}\n` };
}
