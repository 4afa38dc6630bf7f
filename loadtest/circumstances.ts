import { availableParallelism, cpus, loadavg } from 'node:os';
import { checkoutCommit } from '#deploy/local/checkout-commit';
import { type Demand, instancesOf } from '#loadtest/k6/profile';
import type { SloScope } from '#loadtest/k6/slo';
import type { Summarized } from '#loadtest/k6/text-summary';
import type { PlanLeft, Target } from '#loadtest/target';

/** Variables that the report shows. The report never shows the API key. */
const SHOWN = ['PROFILE', 'RATE', 'DURATION', 'BASE_URL'] as const;

/** Properties of a run besides its demand. */
export type RunParts = {
  readonly target: Target;
  readonly scope: SloScope;
  readonly plan: PlanLeft;
  readonly keys: readonly string[];
  /** Reductions of the demand, with reasons. */
  readonly notes: readonly string[];
};

/**
 * Circumstances of a run for the report. Must be called before the load starts, because the result
 * contains the load average.
 */
export function circumstancesOf(
  demand: Demand,
  { target, scope, plan, keys, notes }: RunParts,
): NonNullable<Summarized['circumstances']> {
  const { baseUrl, cluster } = target;
  const given = SHOWN.flatMap((name) => {
    const value = process.env[name] ?? '';
    return value === '' ? [] : [`${name}=${value}`];
  });
  const accounts =
    cluster === undefined
      ? `the key's account, plan ${plan.name}, ${plan.requestsPerMinute} requests a minute`
      : `${keys.length}, created for the run`;
  const [cpu] = cpus();
  const load = loadavg().map((value) => value.toFixed(1));
  return [
    ['Command', `\`make load ${given.join(' ')}\``],
    ['Checkout', checkoutCommit()],
    ['Began', new Date().toISOString().replace(/\.\d+Z$/, 'Z')],
    ['Target', cluster === undefined ? baseUrl : `${baseUrl} (\`make cluster\`)`],
    ['Load', `${loadText(demand)}, ${instancesOf(demand)} instances`],
    ['Accounts', accounts],
    ...(scope.limits === undefined ? [] : [['Plan', planText(scope.limits)] as const]),
    ['Machine', `${availableParallelism()} of ${cpus().length} cores, ${cpu?.model.trim()}`],
    ['Load average before the run', load.join(' ')],
    ...notes.map((note) => ['Lowered', note] as const),
  ];
}

function planText({ requestsPerMinute, cyclesPerMonth }: NonNullable<SloScope['limits']>): string {
  const month = cyclesPerMonth === undefined ? '' : `; ${cyclesPerMonth} cycles a month`;
  return `${requestsPerMinute} requests a minute${month}`;
}

/** Rate and duration as text. */
export function loadText({ perS, seconds }: Demand): string {
  return `RATE ${perS}/s for ${Math.round(seconds)} s`;
}
