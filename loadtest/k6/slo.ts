import { KILL_PHASE, type Phase, PROFILES, type ProfileName } from './profile.ts';

/* Objectives of each profile as data, for k6's thresholds and for the verdict. */

/** Route of the latency objective: callers wait for process calls. */
export const PROCESS_ROUTE = '/v1/instances/:id/process';

/**
 * Minimum share of answered calls. A call with a 5xx or a timeout is unanswered. Source: operations
 * "Alerts".
 */
const AVAILABILITY_MIN = 0.999;

/** Maximum p99 of answered process calls, in ms. Source: operations "Alerts". */
const PROCESS_MS_MAX = 50;

/** Maximum p99 of refusals by an overloaded service, in ms. Source: the project's targets. */
const REFUSAL_MS_MAX = 100;

/** Comparison operators of k6. */
type Comparison = '<' | '<=' | '==' | '>=';

/** An objective: a bound for a statistic of a k6 metric. */
export type Slo = {
  readonly text: string;
  /** Metric with tags in k6's selector syntax: `available{scenario:steady}`. */
  readonly metric: string;
  readonly statistic: 'rate' | 'p(99)' | 'count';
  readonly comparison: Comparison;
  readonly bound: number;
  readonly unit: '%' | 'ms' | '';
  /** Whether the objective is met if k6 has no samples, for example of refusals. */
  readonly isKeptUnmeasured?: boolean;
};

/** Parameters of a run that determine its objectives. */
export type SloScope = {
  readonly name: ProfileName;
  readonly phases: readonly Phase[];
  /** Limits of the run's accounts; only in profile `limiter`. */
  readonly limits?: LimitsScope | undefined;
};

/** Plan that profile `limiter` tests. */
type LimitsScope = {
  readonly requestsPerMinute: number;
  /** Quota of the second account, which the run exhausts; undefined without such an account. */
  readonly cyclesPerMonth: number | undefined;
  /** Maximum number of rate limit windows in the run. */
  readonly windows: number;
  /** Whether the account has no other client: the run then sends every request of a window. */
  readonly isAlone: boolean;
};

/** k6 selector for the latency of answered process calls in a phase. */
export function processLatency({ name }: Pick<Phase, 'name'>): string {
  return `http_req_duration{expected_response:true,name:${PROCESS_ROUTE},scenario:${name}}`;
}

/** Objectives of a run. */
export function slosOf(scope: SloScope): Slo[] {
  const { name, phases } = scope;
  const everywhere = [correct(), exactHeaders()];
  if (PROFILES[name].load === 'limits') return [...limiterSlos(scope.limits), ...everywhere];
  const latencies = phases.filter(({ isJudged }) => isJudged).map(latency);
  switch (name) {
    case 'breakpoint':
      return [...phases.flatMap((phase) => [availability(phase), latency(phase)]), ...everywhere];
    case 'spike':
      return [
        ...phases.filter(({ isJudged }) => isJudged).map(availability),
        ...latencies,
        ...refusals(),
        ...everywhere,
      ];
    case 'smoke':
      // No latency objective: the service may be cold.
      return [availability(), ...everywhere];
    case 'average':
    case 'stress':
    case 'soak':
    case 'failover':
    case 'hot-instance':
    case 'limiter':
      return [availability(), ...latencies, ...everywhere];
  }
}

function availability(phase?: Phase): Slo {
  return {
    text: `99.9 % of calls are answered${phase === undefined ? '' : `, ${phaseText(phase)}`}`,
    metric: phase === undefined ? 'available' : `available{scenario:${phase.name}}`,
    ...{ statistic: 'rate', comparison: '>=', bound: AVAILABILITY_MIN, unit: '%' },
  };
}

function latency(phase: Phase): Slo {
  return {
    text: `99 % of process calls take less than ${PROCESS_MS_MAX} ms, ${phaseText(phase)}`,
    metric: processLatency(phase),
    ...{ statistic: 'p(99)', comparison: '<', bound: PROCESS_MS_MAX, unit: 'ms' },
  };
}

/** Phase as text. */
export function phaseText({ name, toPerS }: Phase): string {
  return `${name.replaceAll('_', ' ')} (${Number(toPerS.toFixed(1))}/s)`;
}

function correct(): Slo {
  return {
    text: 'no answer is wrong (unexpected status, or another instance)',
    metric: 'wrong_answers',
    ...{ statistic: 'count', comparison: '==', bound: 0, unit: '' },
  };
}

function exactHeaders(): Slo {
  return {
    text: 'every answer has exactly the limit headers of its account',
    metric: 'headers_exact',
    ...{ statistic: 'rate', comparison: '>=', bound: 1, unit: '%' },
  };
}

function refusals(): Slo[] {
  return [
    {
      text: 'every failed call gets 503 with Retry-After',
      metric: 'refusal_retryable',
      ...{ statistic: 'rate', comparison: '>=', bound: 1, unit: '%', isKeptUnmeasured: true },
    },
    {
      text: `99 % of refusals come within ${REFUSAL_MS_MAX} ms`,
      metric: 'refusal_duration',
      ...{ statistic: 'p(99)', comparison: '<', bound: REFUSAL_MS_MAX, unit: 'ms' },
      isKeptUnmeasured: true,
    },
  ];
}

function limiterSlos(limits: LimitsScope | undefined): Slo[] {
  if (limits === undefined) return [availability()];
  const { requestsPerMinute, cyclesPerMonth, windows } = limits;
  const perWindow = Array.from({ length: windows }, (_, window): Slo => {
    return {
      text: `never more than ${requestsPerMinute} requests in minute ${window + 1}`,
      metric: `limiter_admitted{window:${window}}`,
      ...{ statistic: 'count', comparison: '<=', bound: requestsPerMinute, unit: '' },
      isKeptUnmeasured: true,
    };
  });
  const month: Slo[] =
    cyclesPerMonth === undefined
      ? []
      : [
          {
            text: `never more than ${cyclesPerMonth} cycles in the month`,
            metric: 'month_cycles',
            ...{ statistic: 'count', comparison: '<=', bound: cyclesPerMonth, unit: '' },
          },
        ];
  return [availability(), ...perWindow, ...month];
}

/**
 * k6 thresholds: objectives, abort conditions, and always met thresholds, which make k6 report
 * sub-metrics.
 */
export function thresholdsOf(scope: SloScope): Record<string, (string | Abort)[]> {
  const thresholds: Record<string, (string | Abort)[]> = {};
  const add = (metric: string, threshold: string | Abort): void => {
    thresholds[metric] = [...(thresholds[metric] ?? []), threshold];
  };
  for (const { metric, statistic, comparison, bound } of slosOf(scope)) {
    add(metric, `${statistic}${comparison}${bound}`);
  }
  for (const metric of figuresOf(scope)) {
    if (thresholds[metric] === undefined) add(metric, alwaysTrueOf(metric));
  }
  if (scope.name !== 'breakpoint') add('dropped_iterations', 'count==0');
  else for (const phase of scope.phases) for (const [metric, end] of ends(phase)) add(metric, end);
  return thresholds;
}

/** A threshold that aborts the run when broken. */
export type Abort = {
  readonly threshold: string;
  readonly abortOnFail: true;
  readonly delayAbortEval: string;
};

/** Sub-metrics for the summary. k6 reports a sub-metric only if it has a threshold. */
export function figuresOf({ name, phases, limits }: SloScope): string[] {
  const { load } = PROFILES[name];
  const routes = load === 'mixed' ? ROUTES : [PROCESS_ROUTE];
  const windows = Array.from({ length: limits?.windows ?? 0 }, (_, window) => window);
  return [
    ...phases.flatMap((phase) => [
      `http_reqs{scenario:${phase.name}}`,
      `dropped_iterations{scenario:${phase.name}}`,
      `available{scenario:${phase.name}}`,
      processLatency(phase),
    ]),
    ...routes.map(routeLatency),
    ...windows.flatMap((window) => [
      `limiter_refused{window:${window}}`,
      `limiter_remaining{window:${window}}`,
    ]),
  ];
}

/** Routes of the mix, in order. */
export const ROUTES = [
  PROCESS_ROUTE,
  '/v1/instances/:id/process/batch',
  '/v1/instances/:id/snapshot',
  '/v1/instances/:id/contract',
  '/v1/instances/:id/history',
  '/v1/instances',
] as const;

/** k6 selector for a route's latency over the whole load. */
export function routeLatency(route: string): string {
  return `http_req_duration{name:${route},part:load}`;
}

/** A threshold that is always met, so that k6 reports the sub-metric. */
function alwaysTrueOf(metric: string): string {
  if (metric.startsWith('http_req_duration')) return 'max>=0';
  return metric.startsWith('available') ? 'rate>=0' : 'count>=0';
}

/** Abort conditions of a step: after a breakdown, further steps add no information. */
function ends(phase: Phase): (readonly [string, Abort])[] {
  const rule = { abortOnFail: true, delayAbortEval: '2s' } as const;
  return [
    [`dropped_iterations{scenario:${phase.name}}`, { threshold: 'count<1', ...rule }],
    [`available{scenario:${phase.name}}`, { threshold: 'rate>0.9', ...rule }],
  ];
}

/** Phase in which the driver kills an engine; undefined for profiles without a kill. */
export function killPhaseOf(name: ProfileName): string | undefined {
  return name === 'failover' ? KILL_PHASE : undefined;
}
