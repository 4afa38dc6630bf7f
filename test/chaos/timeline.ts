import type { Call } from '#test/chaos/call-log';

/** Something that was done to the cluster. Times are monotonic milliseconds. */
export type Disturbance = {
  readonly fault: string;
  readonly text: string;
  readonly fromMs: number;
  /** When it was over; the same moment for what has no duration. */
  toMs: number;
  /** From its beginning until the engines that answered served every shard again. */
  servedAfterMs: number | undefined;
};

/** One second of the load, by when calls were due. */
export type Second = {
  due: number;
  answered: number;
  /** Calls that ended in a failure of the service, or of unknown outcome. */
  errors: number;
  latenciesMs: number[];
};

/** How long after its end a disturbance may still be felt, in milliseconds. */
export const AFTERMATH_MS = 5_000;

/** What was done as one fault, and the calls that were due from its beginning until 5 s after its end. */
export type FaultTime = {
  readonly disturbances: readonly Disturbance[];
  readonly overMs: number;
  readonly calls: readonly Call[];
};

/** When a fault was done and whom it may have disturbed; undefined if it was not. */
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

/** The share of calls that the service failed, 0 of none. */
export function errorShareOf(calls: readonly Call[]): number {
  return calls.length === 0 ? 0 : calls.filter(isError).length / calls.length;
}

/** Whether the service failed its caller: refusals that the caller has earned are answers. */
export function isError({ outcome }: Call): boolean {
  if (outcome.kind === 'refused') return outcome.status === 0 || outcome.status >= 500;
  return outcome.kind === 'unknown';
}

/** The load second by second from `fromMs` on. */
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
 * How long after a disturbance was over the last call became due that the service failed, in
 * milliseconds; 0 when none did. Looks as far as `untilMs`.
 */
export function failedAfterMs(calls: readonly Call[], overMs: number, untilMs: number): number {
  const late = calls.filter(
    (call) => call.dueMs > overMs && call.dueMs <= untilMs && isError(call),
  );
  return Math.max(0, ...late.map(({ dueMs }) => dueMs - overMs));
}

/** The value below which this share of the numbers lies; 0 of none. */
export function quantile(numbers: readonly number[], share: number): number {
  const sorted = numbers.toSorted((left, right) => left - right);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}
