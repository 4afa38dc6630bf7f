import { KILL_PHASE, type Phase, PROFILES, type ProfileName } from './profile.ts';

/*
 * The objectives of each profile as data. k6 takes them as thresholds, the verdict reads the same list.
 */

/** The latency objective's route: observations are what callers wait for. */
export const PROCESS_ROUTE = '/v1/instances/:id/process';

/** 99.9 % of calls are answered, 503 and no answer being none. Source: operations "Alerts". */
const AVAILABILITY_MIN = 0.999;

/** 99 % of answered process calls take less, in milliseconds. Source: operations "Alerts". */
const PROCESS_MS_MAX = 50;

/** A refusal of a service that has too much to do takes at most this long, in ms. Source: the targets. */
const REFUSAL_MS_MAX = 100;

/** How k6 compares; it spells equality so. */
type Comparison = '<' | '<=' | '==' | '>=';

/** One objective: a statistic of a metric of k6 and its bound. */
export type Slo = {
  readonly text: string;
  /** With its tags, as k6 selects a part of a metric: `available{scenario:steady}`. */
  readonly metric: string;
  readonly statistic: 'rate' | 'p(99)' | 'count';
  readonly comparison: Comparison;
  readonly bound: number;
  readonly unit: '%' | 'ms' | '';
  /** Whether it is kept when nothing was measured: nothing refused is nothing refused too late. */
  readonly isKeptUnmeasured?: boolean;
};

/** What an objective needs to know of a run. */
export type SloScope = {
  readonly name: ProfileName;
  readonly phases: readonly Phase[];
  /** Of the `limiter` profile: what its accounts may do, and which windows it fills. */
  readonly limits?: LimitsScope | undefined;
};

/** The plan that `limiter` holds the service to. */
type LimitsScope = {
  readonly requestsPerMinute: number;
  /** Undefined where no account with a quota of its own can be had. */
  readonly cyclesPerMonth: number | undefined;
  /** How many minute windows the run can touch. */
  readonly windows: number;
  /** Whether no other client uses the account, so that every request of a window is the run's own. */
  readonly isAlone: boolean;
};

/** The latency of answered process calls in a phase, as k6 selects it. */
export function processLatency({ name }: Pick<Phase, 'name'>): string {
  return `http_req_duration{expected_response:true,name:${PROCESS_ROUTE},scenario:${name}}`;
}

/** The objectives of a run. */
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
      // What a little of everything takes on a cold service says nothing of a day's latency.
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

/** A phase for people. */
export function phaseText({ name, toPerS }: Phase): string {
  return `${name.replaceAll('_', ' ')} (${Number(toPerS.toFixed(1))}/s)`;
}

function correct(): Slo {
  return {
    text: 'no answer is wrong: another status than expected, or not about the instance asked for',
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
      text: 'every call that is not carried out is answered by 503 with Retry-After',
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

/** k6's thresholds: the objectives, what ends a run early, and what makes k6 keep parts apart. */
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

/** A threshold that ends the run as soon as it is crossed. */
export type Abort = {
  readonly threshold: string;
  readonly abortOnFail: true;
  readonly delayAbortEval: string;
};

/** Every part of a metric that the summary shows; a threshold makes k6 keep it apart. */
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

/** The routes of the mix in its order. */
export const ROUTES = [
  PROCESS_ROUTE,
  '/v1/instances/:id/process/batch',
  '/v1/instances/:id/snapshot',
  '/v1/instances/:id/contract',
  '/v1/instances/:id/history',
  '/v1/instances',
] as const;

/** The latency of a route over the whole load, as k6 selects it. */
export function routeLatency(route: string): string {
  return `http_req_duration{name:${route},part:load}`;
}

/** True of everything that can be measured: such a threshold only keeps a part of a metric apart. */
function alwaysTrueOf(metric: string): string {
  if (metric.startsWith('http_req_duration')) return 'max>=0';
  return metric.startsWith('available') ? 'rate>=0' : 'count>=0';
}

/** A step that has broken down shows nothing more, and the next ones would only make it worse. */
function ends(phase: Phase): (readonly [string, Abort])[] {
  const rule = { abortOnFail: true, delayAbortEval: '2s' } as const;
  return [
    [`dropped_iterations{scenario:${phase.name}}`, { threshold: 'count<1', ...rule }],
    [`available{scenario:${phase.name}}`, { threshold: 'rate>0.9', ...rule }],
  ];
}

/** The name of the phase in which the driver kills an engine; undefined in all other profiles. */
export function killPhaseOf(name: ProfileName): string | undefined {
  return name === 'failover' ? KILL_PHASE : undefined;
}
