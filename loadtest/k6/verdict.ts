import { type Reading, type Slope, slopesOf } from '../processes/slopes.ts';
import { type Phase, PROFILES, requestsOf } from './profile.ts';
import { type Slo, type SloScope, slosOf } from './slo.ts';

/* Verdict on the objectives of a run. Pure: `(evidence) -> verdict`. */

/** k6's summary of a metric or sub-metric. */
export type Measured = {
  readonly type: string;
  readonly values: Readonly<Record<string, number>>;
};

/** k6's summary, by metric name. */
export type Metrics = Readonly<Record<string, Measured>>;

/** Result of an objective. */
export type Judgement = {
  readonly slo: Slo;
  /** `unmeasured`: k6 has no figure, so the objective is not met. */
  readonly outcome: 'kept' | 'broken' | 'unmeasured';
  readonly seen: number | undefined;
};

/** Two counts that must be equal, except for calls with unknown outcome. */
export type Balance = {
  readonly text: string;
  readonly wanted: number;
  readonly seen: number | undefined;
  /** Tolerated excess over `wanted`; `Infinity` without an upper bound. */
  readonly slack: number;
  readonly outcome: Judgement['outcome'];
};

/** Result of a run. */
export type Verdict = {
  readonly outcome: 'kept' | 'broken' | 'void';
  /** Reasons why the run is void; empty if valid. */
  readonly voidBecause: readonly string[];
  readonly judgements: readonly Judgement[];
  readonly balances: readonly Balance[];
  /** Trends of resource usage under a long constant load. */
  readonly slopes: readonly Slope[];
  /** Profile `breakpoint`: steps before the first failed step. */
  readonly held: readonly Phase[] | undefined;
};

/** Facts about a run, from the driver. */
export type Circumstances = {
  /** Reasons to void the run, such as a k6 failure or Ctrl-C. */
  readonly faults?: readonly string[];
  /** Whether the run has its own accounts, so that no other client causes charges. */
  readonly hasOwnAccounts: boolean;
  /** Readings of resource usage under a constant load. */
  readonly readings?: readonly Reading[];
};

/** Minimum share of a phase's requests that k6 must send. */
const SENT_MIN = 0.98;
/** Number of requests of a phase that may be missing in addition to the share `1 - SENT_MIN`. */
const SENT_SLACK = 2;

/** Judges a run. */
export function verdictOf(
  scope: SloScope,
  metrics: Metrics,
  { faults = [], hasOwnAccounts, readings = [] }: Circumstances,
): Verdict {
  const judgements = slosOf(scope).map((slo) => judgementOf(slo, metrics));
  const balances = balancesOf(scope, metrics, hasOwnAccounts);
  const slopes = slopesOf(readings);
  const isStepped = scope.name === 'breakpoint';
  const held = isStepped ? heldOf(scope.phases, judgements, metrics) : undefined;
  const voidBecause = [...faults, ...voidReasons(scope, metrics, isStepped)];
  const isEven = balances.every(isGood) && slopes.every(isGood);
  const isKept = isStepped
    ? (held?.length ?? 0) > 0 && overall(judgements).every(isGood) && isEven
    : judgements.every(isGood) && isEven;
  const outcome = voidBecause.length > 0 ? 'void' : isKept ? 'kept' : 'broken';
  return { outcome, voidBecause, judgements, balances, slopes, held };
}

function isGood({ outcome }: Pick<Judgement, 'outcome'>): boolean {
  return outcome === 'kept';
}

/** Objectives for the whole run, not for a single phase. */
function overall(judgements: readonly Judgement[]): Judgement[] {
  return judgements.filter(({ slo }) => !slo.metric.includes('scenario:'));
}

/** Result of an objective. */
function judgementOf(slo: Slo, metrics: Metrics): Judgement {
  const measured = metrics[slo.metric];
  const seen = measured?.values[slo.statistic];
  if (seen === undefined || measured === undefined || samplesOf(measured) === 0) {
    return { slo, outcome: slo.isKeptUnmeasured ? 'kept' : 'unmeasured', seen: undefined };
  }
  return { slo, outcome: isWithin(seen, slo) ? 'kept' : 'broken', seen };
}

function isWithin(seen: number, { comparison, bound }: Slo): boolean {
  switch (comparison) {
    case '<':
      return seen < bound;
    case '<=':
      return seen <= bound;
    case '==':
      return seen === bound;
    case '>=':
      return seen >= bound;
  }
}

/** Number of samples. A counter in the summary has one sample, even if the value is 0. */
function samplesOf({ type, values }: Measured): number {
  if (type === 'rate') return (values['passes'] ?? 0) + (values['fails'] ?? 0);
  return type === 'trend' ? (values['count'] ?? 0) : 1;
}

/** Value of a counter; 0 if k6's summary omits the counter. */
export function countOf(metrics: Metrics, metric: string): number {
  return metrics[metric]?.values['count'] ?? 0;
}

/**
 * Reasons to void a run. In profile `breakpoint` (`isStepped`), only the first step can void the
 * run; a later incomplete step is a failed step.
 */
function voidReasons({ phases }: SloScope, metrics: Metrics, isStepped: boolean): string[] {
  if (countOf(metrics, 'iterations') === 0) return ['no request was started'];
  const needed = isStepped ? phases.slice(0, 1) : phases;
  const short = needed
    .filter((phase) => isShort(phase, metrics))
    .map((phase) => {
      const sent = countOf(metrics, requestsIn(phase));
      return `${sent} of ${requestsOf(phase)} requests of phase ${phase.name} were sent`;
    });
  const dropped = isStepped
    ? needed.reduce((sum, phase) => sum + countOf(metrics, droppedIn(phase)), 0)
    : countOf(metrics, 'dropped_iterations');
  if (dropped === 0) return short;
  return [`${dropped} requests could not be started in time (dropped iterations)`, ...short];
}

function droppedIn({ name }: Phase): string {
  return `dropped_iterations{scenario:${name}}`;
}

function requestsIn({ name }: Phase): string {
  return `http_reqs{scenario:${name}}`;
}

/** Whether k6 sent too few requests. k6 reports no dropped iterations if k6 itself is too slow. */
function isShort(phase: Phase, metrics: Metrics): boolean {
  const least = requestsOf(phase) * SENT_MIN - SENT_SLACK;
  return countOf(metrics, requestsIn(phase)) < least;
}

/** Steps before the first failed step. An incompletely sent step is a failed step. */
function heldOf(phases: readonly Phase[], judgements: readonly Judgement[], metrics: Metrics) {
  const broken = phases.findIndex((phase) => {
    const own = judgements.filter(({ slo }) => slo.metric.includes(`scenario:${phase.name}}`));
    const isWhole = countOf(metrics, droppedIn(phase)) === 0 && !isShort(phase, metrics);
    return !isWhole || !own.every(isGood);
  });
  return broken === -1 ? phases : phases.slice(0, broken);
}

/** Compares answered cycles with stored and charged cycles. */
function balancesOf(scope: SloScope, metrics: Metrics, hasOwnAccounts: boolean): Balance[] {
  if (PROFILES[scope.name].load === 'limits') return windowBalances(scope, metrics);
  const answered = countOf(metrics, 'cycles');
  // A call without an answer may have been processed once.
  const slack = countOf(metrics, 'cycles_unknown');
  const stored = { text: 'cycles answered = cycles stored', metric: 'cycles_stored' };
  const charged = { text: 'cycles answered = cycles charged', metric: 'cycles_charged' };
  const cycles = [stored, ...(hasOwnAccounts ? [charged] : [])].map(({ text, metric }) =>
    balanceOf(text, { wanted: answered, seen: metrics[metric]?.values['count'], slack }),
  );
  return scope.name === 'spike' ? [...cycles, collapseBalance(scope, metrics)] : cycles;
}

/** An overloaded service may refuse calls, but must not answer fewer calls than before. */
function collapseBalance({ phases }: SloScope, metrics: Metrics): Balance {
  const perS = (name: string): number | undefined => {
    const passes = metrics[`available{scenario:${name}}`]?.values['passes'];
    const seconds = phases.find((phase) => phase.name === name)?.seconds;
    return passes === undefined || seconds === undefined ? undefined : Math.round(passes / seconds);
  };
  const text = 'answers per second in the spike, at least as many as before';
  return balanceOf(text, {
    ...{ wanted: perS('before') ?? 0, seen: perS('spike'), slack: Number.POSITIVE_INFINITY },
  });
}

function balanceOf(
  text: string,
  { wanted, seen, slack }: Pick<Balance, 'wanted' | 'seen' | 'slack'>,
): Balance {
  if (seen === undefined) return { text, wanted, seen, slack, outcome: 'unmeasured' };
  const isEven = seen >= wanted && seen <= wanted + slack;
  return { text, wanted, seen, slack, outcome: isEven ? 'kept' : 'broken' };
}

/**
 * An overloaded minute must admit exactly the plan. Admitted requests have distinct remaining
 * counts, from the plan minus 1 down to 0.
 */
function windowBalances({ limits }: SloScope, metrics: Metrics): Balance[] {
  if (limits === undefined || !limits.isAlone) return [];
  const { requestsPerMinute: plan, cyclesPerMonth, windows } = limits;
  const spent = Array.from({ length: windows }, (_, window) => window).filter(
    (window) => countOf(metrics, `limiter_refused{window:${window}}`) > 0,
  );
  const perWindow = spent.flatMap((window) => {
    const minute = `minute ${window + 1}`;
    const admitted = metrics[`limiter_admitted{window:${window}}`]?.values['count'];
    const remaining = metrics[`limiter_remaining{window:${window}}`]?.values['count'];
    const sum = (plan * (plan - 1)) / 2;
    return [
      balanceOf(`requests admitted in ${minute}, which is overloaded`, {
        ...{ wanted: plan, seen: admitted, slack: 0 },
      }),
      balanceOf(`sum of X-RateLimit-Remaining in ${minute}: every number once`, {
        ...{ wanted: sum, seen: remaining, slack: 0 },
      }),
    ];
  });
  if (cyclesPerMonth === undefined || countOf(metrics, 'month_refused') === 0) return perWindow;
  const seen = metrics['month_cycles']?.values['count'];
  const text = 'cycles admitted in the month, which is overloaded';
  return [...perWindow, balanceOf(text, { wanted: cyclesPerMonth, seen, slack: 0 })];
}
