import { SharedArray } from 'k6/data';
import { scenario } from 'k6/execution';
import { post } from 'k6/http';
import type { Options } from 'k6/options';
import { MODES } from '../../loadtest/k6/mix.ts';

// Open model: requests start at a fixed rate, independent of answers, as from independent agents.
// Closed model, with rate 0: each user waits for an answer, then sends the next request. The file
// k6-load.ts runs this script and passes address, key, instances, times, users and rate.

const address = __ENV['ADDRESS'] ?? '';
const rate = Number(__ENV['RATE']);
const users = Number(__ENV['USERS']);
const seconds = Number(__ENV['SECONDS']);
const warmUpS = Number(__ENV['WARM_UP_S']);
const firstS = Number(__ENV['FIRST_S']);
const headers = {
  authorization: `Bearer ${__ENV['KEY']}`,
  'content-type': 'application/json',
};
const stepS = Number(__ENV['STEP_S']);
// All users share one list, because a list of each user would fill the memory.
const instances = new SharedArray('instances', () =>
  open(__ENV['INSTANCES'] ?? '')
    .trim()
    .split('\n'),
);

const duration = `${warmUpS + seconds}s`;
const closed = { executor: 'constant-vus', exec: 'observe', vus: users, duration } as const;
const opened = {
  executor: 'constant-arrival-rate',
  exec: 'observe',
  rate,
  timeUnit: '1s',
  duration,
  preAllocatedVUs: users,
  maxVUs: users,
} as const;

/** One stream of requests. */
export const options: Options = {
  discardResponseBodies: true,
  summaryTrendStats: ['p(50)', 'p(99)', 'p(99.9)'],
  scenarios: { observations: rate === 0 ? closed : opened },
  // The threshold makes k6 record the measured phase separately.
  thresholds: { 'http_req_duration{phase:measured}': ['max>=0'] },
};

/** Sends one typical observation. Instances take turns, as in process.lua. */
export function observe(): void {
  const n = scenario.iterationInTest;
  const [id = '', ...strengths] = instances[n % instances.length]?.split(' ') ?? [];
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
  const phase = n < rate * warmUpS ? 'warm-up' : 'measured';
  const url = `${address}/v1/instances/${id}/process`;
  post(url, JSON.stringify(body), { headers, tags: { name: 'process', phase } });
}

/** Replaces k6's summary by a JSON line on standard output. */
export function handleSummary(data: { metrics: unknown }): Record<string, string> {
  return { stdout: `RESULT ${JSON.stringify(data.metrics)}\n` };
}
