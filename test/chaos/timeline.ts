import type { Call } from '#test/chaos/load/call-log';

/** A disturbance of the cluster. Times are monotonic milliseconds. */
export type Disturbance = {
  readonly fault: string;
  readonly text: string;
  readonly fromMs: number;
  /** End; equal to the start for an instant event. */
  toMs: number;
  /** Time from the start until the answering engines served every shard. */
  servedAfterMs: number | undefined;
};

/** One second of the load, by due time of calls. */
export type Second = {
  due: number;
  answered: number;
  /** Calls that failed in the service or have unknown outcome. */
  errors: number;
  latenciesMs: number[];
};

/** Time after a disturbance in which effects may remain, in milliseconds. */
export const AFTERMATH_MS = 5_000;

/** A fault, and the calls due from its start until 5 s after its end. */
export type FaultTime = {
  readonly disturbances: readonly Disturbance[];
  readonly overMs: number;
  readonly calls: readonly Call[];
};

/** Period of a fault and its calls; undefined if it did not run. */
export function timeOf(
  fault: string,
  disturbances: readonly Disturbance[],
  calls: readonly Call[],
): FaultTime | undefined {
  const own = disturbances.filter((disturbance) => disturbance.fault === fault);
  const fromMs = Math.min(...own.map((disturbance) => disturbance.fromMs));
  const overMs = Math.max(...own.map(({ toMs }) => toMs));
  if (own.length === 0) return undefined;
  const untilMs = overMs + AFTERMATH_MS;
  const felt = calls.filter(({ dueMs }) => dueMs >= fromMs && dueMs <= untilMs);
  return { disturbances: own, overMs, calls: felt };
}

/** Share of calls failed by the service; 0 without calls. */
export function errorShareOf(calls: readonly Call[]): number {
  return calls.length === 0 ? 0 : calls.filter(isError).length / calls.length;
}

/** Whether the service failed the call; legitimate refusals are not failures. */
export function isError({ outcome }: Call): boolean {
  if (outcome.kind === 'refused') return outcome.status === 0 || outcome.status >= 500;
  return outcome.kind === 'unknown';
}

/** Seconds of the load from `fromMs` on. */
export function secondsOf(calls: readonly Call[], fromMs: number, toMs: number): Second[] {
  const seconds = Array.from(
    { length: Math.max(1, Math.ceil((toMs - fromMs) / 1_000)) },
    (): Second => ({ due: 0, answered: 0, errors: 0, latenciesMs: [] }),
  );
  for (const call of calls) {
    const due = seconds[Math.floor((call.dueMs - fromMs) / 1_000)];
    if (due === undefined) continue;
    due.due += 1;
    if (isError(call)) due.errors += 1;
    if (call.endMs !== Number.POSITIVE_INFINITY) due.latenciesMs.push(call.endMs - call.dueMs);
    const ended = seconds[Math.floor((call.endMs - fromMs) / 1_000)];
    if (ended !== undefined && !isError(call)) ended.answered += 1;
  }
  return seconds;
}

/**
 * Time from the end of a disturbance to the last failed call by due time, in milliseconds; 0
 * without failures. Considers calls until `untilMs`.
 */
export function failedAfterMs(calls: readonly Call[], overMs: number, untilMs: number): number {
  const late = calls.filter(
    (call) => call.dueMs > overMs && call.dueMs <= untilMs && isError(call),
  );
  return Math.max(0, ...late.map(({ dueMs }) => dueMs - overMs));
}

/** Quantile of the numbers; 0 if empty. */
export function quantile(numbers: readonly number[], share: number): number {
  const sorted = numbers.toSorted((left, right) => left - right);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}
