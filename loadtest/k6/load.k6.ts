import { scenario } from 'k6/execution';
import type { Options, Scenario } from 'k6/options';
import { callOfMinute, callOfMix, callOfMonth } from './measured-call.ts';
import { kindOf, STEP_S, visitOf } from './mix.ts';
import {
  type Demand,
  instancesOf,
  isProfileName,
  type Phase,
  PROFILES,
  phasesOf,
  requestsOf,
} from './profile.ts';
import { clear, placeOf, type Seeded, seed } from './seeding.ts';
import { type SloScope, thresholdsOf } from './slo.ts';
import { textSummary } from './text-summary.ts';
import { type Metrics, verdictOf } from './verdict.ts';

/*
 * k6 script of the load. `make load` starts this script and writes the summary. To run it without
 * `make load`:
 *   k6 run -e PROFILE=smoke -e BASE_URL=http://127.0.0.1:8000 -e API_KEY=… loadtest/k6/load.k6.ts
 * API_KEY may hold several keys, separated by commas.
 */

/** Time unit of a rate in seconds, so that rates with one decimal stay exact. */
const UNIT_S = 10;

/** Unused request numbers between two phases, because k6 may start one or two extra requests. */
const GAP = 10;

/** Maximum time for a phase's last requests: the request timeout plus a second. */
const GRACEFUL_STOP = '16s';

/** Maximum setup time: seeding and clearing may wait several minutes on a small plan. */
const SETUP_MAX = '900s';

const USERS_MIN = 10;

const demand = readDemand();
const profile = PROFILES[demand.name];
const base = (__ENV['BASE_URL'] ?? '').replace(/(?:\/v1)?\/*$/, '');
const keys = (__ENV['API_KEY'] ?? '').split(',');
const scope: SloScope = { ...demand, phases: phasesOf(demand), limits: readLimits() };

/**
 * Indexes of accounts with instances. In load `limits`, the first account has no instances, because
 * its requests test the minute limit.
 */
const owners = profile.load === 'limits' ? keys.map((_, index) => index).slice(1) : allOwners();
const seeding = {
  base,
  keys,
  owners,
  instances: owners.length === 0 ? 0 : Number(__ENV['INSTANCES'] ?? instancesOf(demand)),
  countsWindows: profile.load === 'limits',
};

function allOwners(): number[] {
  return profile.load === 'hot' ? [0] : keys.map((_, index) => index);
}

function readDemand(): Demand {
  const name = __ENV['PROFILE'] ?? '';
  if (!isProfileName(name)) throw new Error(`set PROFILE to one of ${Object.keys(PROFILES)}`);
  const { perS, seconds } = PROFILES[name];
  return {
    name,
    perS: Number(__ENV['RATE'] ?? perS),
    seconds: Number(__ENV['SECONDS'] ?? seconds),
  };
}

function readLimits(): SloScope['limits'] {
  if (profile.load !== 'limits') return undefined;
  const cycles = __ENV['CYCLES_PER_MONTH'];
  return {
    requestsPerMinute: Number(__ENV['REQUESTS_PER_MINUTE']),
    cyclesPerMonth: cycles === undefined ? undefined : Number(cycles),
    windows: Math.ceil(demand.seconds / 60) + 1,
    isAlone: __ENV['OWN_ACCOUNTS'] === 'true',
  };
}

/**
 * Converts phases into consecutive k6 scenarios. Each scenario gets the number of its first
 * request.
 */
function scenariosOf(phases: readonly Phase[]): Record<string, Scenario> {
  const scenarios: Record<string, Scenario> = {};
  let startS = 0;
  let firstN = 0;
  for (const phase of phases) {
    scenarios[phase.name] = {
      exec: profile.load,
      ...arrivalsOf(phase),
      startTime: durationOf(startS),
      gracefulStop: GRACEFUL_STOP,
      env: { FIRST_N: String(firstN) },
    };
    startS += phase.seconds;
    firstN += requestsOf(phase) + GAP;
  }
  return scenarios;
}

function arrivalsOf({ fromPerS, toPerS, seconds }: Phase) {
  const peak = Math.max(fromPerS, toPerS);
  const users = Math.max(USERS_MIN, Math.ceil(peak * profile.patienceS));
  const shared = { timeUnit: `${UNIT_S}s`, preAllocatedVUs: users, maxVUs: users };
  const duration = durationOf(seconds);
  if (fromPerS === toPerS) {
    const rate = Math.max(1, Math.round(toPerS * UNIT_S));
    return { executor: 'constant-arrival-rate' as const, ...shared, rate, duration };
  }
  const stages = [{ target: Math.round(toPerS * UNIT_S), duration }];
  const startRate = Math.round(fromPerS * UNIT_S);
  return { executor: 'ramping-arrival-rate' as const, ...shared, startRate, stages };
}

function durationOf(seconds: number): string {
  return `${Math.round(seconds * 1_000)}ms`;
}

/** Arrival-rate executors only: requests start when due, independent of answers. */
export const options: Options = {
  batch: 20,
  batchPerHost: 20,
  setupTimeout: SETUP_MAX,
  teardownTimeout: SETUP_MAX,
  summaryTrendStats: ['count', 'p(50)', 'p(95)', 'p(99)', 'max'],
  scenarios: scenariosOf(scope.phases),
  thresholds: thresholdsOf(scope),
};

/** Reads the accounts and creates the instances. */
export function setup(): Seeded {
  const seeded = seed(seeding);
  console.log('load: begins');
  return seeded;
}

function numberOfRequest(): number {
  return Number(__ENV['FIRST_N']) + scenario.iterationInTest;
}

/** Account and parameters of the nth call about an instance. */
function callAt(seeded: Seeded, n: number) {
  const { instance, visit } = visitOf(n, seeding.instances);
  const { account, id } = placeOf(seeded, owners, instance);
  const second = seeded.firstS + visit * STEP_S;
  return { account: accountOf(seeded, account), call: { base, id, n, instance, second } };
}

function accountOf({ accounts }: Seeded, index: number) {
  const limits = accounts[index]?.limits ?? { requestsPerMinute: 0, cyclesPerMonth: 0 };
  return { key: keys[index] ?? '', limits };
}

/** Sends the next call of the mix. */
export function mixed(seeded: Seeded): void {
  const n = numberOfRequest();
  const { account, call } = callAt(seeded, n);
  callOfMix({ kind: kindOf(n), ...call }, account);
}

/** Sends the next observation of the single instance, 1 s after the previous timestamp. */
export function hot(seeded: Seeded): void {
  const n = numberOfRequest();
  const { account, call } = callAt(seeded, n);
  callOfMix({ kind: 'process', ...call, second: seeded.firstS + n }, account);
}

/** Tests the minute limit with even requests and the monthly quota, if known, with odd requests. */
export function limits(seeded: Seeded): void {
  const n = numberOfRequest();
  if (n % 2 === 0 || seeding.instances === 0) {
    callOfMinute(base, accountOf(seeded, 0), seeded.firstResetS);
    return;
  }
  const { account, call } = callAt(seeded, (n - 1) / 2);
  callOfMonth(call, account);
}

/** Reads stored and charged cycles, and deletes the instances. */
export function teardown(seeded: Seeded): void {
  console.log('load: ends');
  clear(seeding, seeded);
}

/** Writes the figures as JSON for `make load`; otherwise prints the verdict as text. */
export function handleSummary({ metrics }: { metrics: Metrics }): Record<string, string> {
  const file = __ENV['METRICS_FILE'];
  if (file !== undefined) return { [file]: JSON.stringify(metrics) };
  const verdict = verdictOf(scope, metrics, { hasOwnAccounts: false });
  return { stdout: textSummary({ scope, metrics, verdict }) };
}
