import {
  type Demand,
  type Phase,
  PROFILES,
  type ProfileName,
  phasesOf,
  requestsOf,
} from '#loadtest/k6/profile';
import { figuresOf, type SloScope, slosOf } from '#loadtest/k6/slo';
import type { Measured, Metrics } from '#loadtest/k6/verdict';

/** Default run of a profile. Load `limits` gets a small plan. */
export function usualScope(name: ProfileName): SloScope {
  const { perS, seconds, load } = PROFILES[name];
  const demand: Demand = { name, perS, seconds };
  const small = { requestsPerMinute: 10, cyclesPerMonth: 20, windows: 3, isAlone: true };
  return { name, phases: phasesOf(demand), limits: load === 'limits' ? small : undefined };
}

/** k6's figures of a successful run. */
export function goodFigures(scope: SloScope): Record<string, Measured> {
  const names = new Set([...slosOf(scope).map(({ metric }) => metric), ...figuresOf(scope)]);
  const figures = Object.fromEntries([...names].map((name) => [name, goodFigure(name)]));
  const count = scope.phases.reduce((sum, phase) => sum + requestsOf(phase), 0);
  return {
    ...figures,
    ...Object.fromEntries(scope.phases.map(sent)),
    iterations: counter(count),
    cycles: counter(270),
    cycles_unknown: counter(0),
    cycles_stored: counter(270),
    cycles_charged: counter(270),
    month_cycles: counter(20),
    month_refused: counter(20),
    ...(scope.limits === undefined ? {} : minute(0)),
  };
}

function sent(phase: Phase): [string, Measured] {
  return [`http_reqs{scenario:${phase.name}}`, counter(requestsOf(phase))];
}

/** An exhausted minute of ten requests, with each remaining count once. */
function minute(window: number): Metrics {
  return {
    [`limiter_admitted{window:${window}}`]: counter(10),
    [`limiter_refused{window:${window}}`]: counter(10),
    [`limiter_remaining{window:${window}}`]: counter(45),
  };
}

/** A k6 counter with value `count`. */
export function counter(count: number): Measured {
  return { type: 'counter', values: { count, rate: 1 } };
}

/** A k6 trend with this p99. */
export function trend(p99Ms: number, count = 100): Measured {
  const statistics = { 'p(50)': 5, 'p(95)': 10, 'p(99)': p99Ms, max: p99Ms };
  return { type: 'trend', values: { count, ...statistics } };
}

/** A k6 rate with these samples. */
export function rate(passes: number, fails: number): Measured {
  return { type: 'rate', values: { rate: passes / (passes + fails), passes, fails } };
}

function goodFigure(name: string): Measured {
  if (/^(http_req_duration|refusal_duration)/.test(name)) return trend(20);
  return /^(available|headers_exact|refusal_retryable)/.test(name) ? rate(1_000, 0) : counter(0);
}
