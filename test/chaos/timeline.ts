import type { Call } from '#test/chaos/load/call-log';

/** One step of a fault. Times are monotonic milliseconds. */
export type Disturbance = {
  readonly fault: string;
  readonly text: string;
  readonly fromMs: number;
  /** End of the step; equal to the start for a kill. */
  toMs: number;
  /** Time in ms from the start until other nodes served every shard; undefined if not measured. */
  servedAfterMs: number | undefined;
};

/** Figures of one second of the load. */
export type Second = {
  due: number;
  answered: number;
  /** Number of failed calls, including calls with unknown outcome. */
  errors: number;
  latenciesMs: number[];
};

/** Calls that are due within this time after a fault are affected by the fault. In milliseconds. */
export const AFTERMATH_MS = 5_000;

/** A fault and the calls affected by it. */
export type FaultTime = {
  readonly disturbances: readonly Disturbance[];
  /** End of the fault, in monotonic milliseconds. */
  readonly overMs: number;
  readonly calls: readonly Call[];
};

/** Disturbances of a fault and its affected calls; undefined if the fault did not run. */
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
  const affected = calls.filter(({ dueMs }) => dueMs >= fromMs && dueMs <= untilMs);
  return { disturbances: own, overMs, calls: affected };
}

/** Share of failed calls; 0 without calls. */
export function errorShareOf(calls: readonly Call[]): number {
  return calls.length === 0 ? 0 : calls.filter(isError).length / calls.length;
}

/** Whether the call failed: a 5xx, no connection, or an unknown outcome. */
export function isError({ outcome }: Call): boolean {
  if (outcome.kind === 'refused') return outcome.status === 0 || outcome.status >= 500;
  return outcome.kind === 'unknown';
}

/** Groups calls by second. */
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
 * Time in ms from the end of a fault (`overMs`) until the last failed call was due; 0 if no later
 * call failed. Ignores calls that are due after `untilMs`.
 */
export function failedAfterMs(calls: readonly Call[], overMs: number, untilMs: number): number {
  const late = calls.filter(
    (call) => call.dueMs > overMs && call.dueMs <= untilMs && isError(call),
  );
  return Math.max(0, ...late.map(({ dueMs }) => dueMs - overMs));
}

/** Quantile of numbers; 0 without numbers. */
export function quantile(numbers: readonly number[], share: number): number {
  const sorted = numbers.toSorted((left, right) => left - right);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}
