import type { CallOptions } from '../calls/call-options.ts';
import type { Caller } from '../calls/caller.ts';
import { Deadline } from '../calls/deadline.ts';
import { fittedMs, waitMs } from '../calls/retry.ts';
import { ApiError, ConnectionError, DeadlineError, MalformedAnswerError } from '../errors.ts';
import { canonical, toJson } from '../json.ts';
import type { FleetObservation, FleetResult, FleetSummary, ProcessedFleet } from '../models.ts';
import { resultOf } from '../read-result.ts';
import type { Result } from '../result.ts';
import { uuid7 } from '../uuid7.ts';

/** Options of `client.process`. */
export type FleetOptions = CallOptions & {
  /** Whether results have `snapshot`, `contract` and `drift`. */
  readonly includeState?: boolean | undefined;
};

/** Maximum observations of a call. Source: interface 8.4. */
const OBSERVATIONS_MAX = 1_000;

/** Maximum body of a call without its frame, in bytes. Source: interface 8.4. */
const BODY_BYTES_MAX = 1_048_576 - 64;

/** An observation with its key. */
type Item = FleetObservation & { readonly idempotency_key: string };

/**
 * Sends observations of many instances, in calls of at most 1,000 observations, and repeats the
 * observations that failed for a passing reason. Throws if no call gets an answer.
 */
export async function processFleet(
  caller: Caller,
  observations: readonly FleetObservation[],
  options: FleetOptions,
): Promise<Result<ProcessedFleet>> {
  const items = observations.map(keyed);
  const results: FleetResult[] = [];
  let last: Result<ProcessedFleet> | undefined;
  let attempts = 0;
  for (const part of partsOf(items)) {
    const first = results.length;
    try {
      last = await processPart(caller, part, options);
      attempts += last.attempts;
      results.push(...last.data.results.map((each) => ({ ...each, index: first + each.index })));
    } catch (error) {
      // The results of earlier calls must not be lost.
      if (last === undefined || !isFailure(error)) throw error;
      results.push(
        ...items.slice(first).map((item, at) => failed(item, first + at, at < part.length, error)),
      );
      break;
    }
  }
  if (last === undefined) throw new Error('there is always a call');
  return { ...last, attempts, data: { summary: summaryOf(results), results } };
}

/** A copy of an observation, with its own key or a new key. */
function keyed(observation: FleetObservation): Item {
  const { idempotency_key: key = uuid7() } = observation;
  return canonical({ ...observation, idempotency_key: key });
}

/** Divides observations into bodies that the service accepts; one empty part for an empty list. */
function partsOf(items: readonly Item[]): Item[][] {
  const parts: Item[][] = [[]];
  let bytes = 0;
  for (const item of items) {
    const size = new TextEncoder().encode(toJson(item, 'observation')).length + 1;
    const part = parts.at(-1);
    const isFull = part?.length === OBSERVATIONS_MAX || bytes + size > BODY_BYTES_MAX;
    if (part === undefined || (isFull && part.length > 0)) {
      parts.push([item]);
      bytes = size;
    } else {
      part.push(item);
      bytes += size;
    }
  }
  return parts;
}

/** Sends at most 1,000 observations until no observation fails for a passing reason. */
async function processPart(
  caller: Caller,
  items: readonly Item[],
  { includeState, ...options }: FleetOptions,
): Promise<Result<ProcessedFleet>> {
  const { timeoutMs = caller.settings.timeoutMs, signal } = options;
  const deadline = new Deadline(timeoutMs, signal);
  const attemptsMax = options.attemptsMax ?? caller.settings.attemptsMax;
  const send = async (some: readonly Item[]) => {
    const body = { observations: some, include_state: includeState };
    const call = { method: 'POST', path: '/process', body, repeatable: 'always' } as const;
    const left = { ...options, timeoutMs: Math.max(1, deadline.leftMs()) };
    return resultOf<ProcessedFleet>(await caller.call({ ...call, isChange: true, options: left }));
  };
  let result = await send(items);
  const results = [...result.data.results];
  for (let rounds = 1; rounds < attemptsMax; rounds += 1) {
    const again = passing(results);
    if (again.length === 0) break;
    const retryAfterMs = Math.max(...again.map((at) => 1_000 * (results[at]?.retry_after ?? 0)));
    const wait = fittedMs(waitMs(rounds, retryAfterMs, Math.random), retryAfterMs, deadline);
    if (wait === undefined) break;
    await deadline.pause(wait);
    const more = await send(again.flatMap((at) => items[at] ?? [])).catch(unlessFailure);
    if (more === undefined) break;
    for (const [at, each] of more.data.results.entries()) {
      const index = again[at] ?? 0;
      results[index] = { ...each, index };
    }
    result = { ...more, attempts: result.attempts + more.attempts };
  }
  return { ...result, data: { summary: summaryOf(results), results } };
}

/**
 * Indexes of the observations whose repetition may have another result: failures of the service,
 * and observations after these failures.
 */
function passing(results: readonly FleetResult[]): number[] {
  const ended = new Set<string | undefined>();
  return results.flatMap(({ status, http_status: httpStatus = 0, instance_id: id }, index) => {
    const isFailed = status === 'unknown' || (status === 'refused' && httpStatus >= 500);
    if (isFailed || (status === 'not_attempted' && !ended.has(id))) return [index];
    if (status === 'refused') ended.add(id);
    return [];
  });
}

type FailedCall = ApiError | ConnectionError | DeadlineError | MalformedAnswerError;

/** Whether an error describes a failed call, and not a misuse or an abort. */
function isFailure(error: unknown): error is FailedCall {
  return (
    error instanceof ApiError ||
    error instanceof ConnectionError ||
    error instanceof DeadlineError ||
    error instanceof MalformedAnswerError
  );
}

function unlessFailure(error: unknown): undefined {
  if (!isFailure(error)) throw error;
}

/** Result of an observation whose call got no usable answer, or was not sent. */
function failed(
  { instance_id }: Item,
  index: number,
  isSent: boolean,
  error: FailedCall,
): FleetResult {
  const refusal = {
    error: error instanceof ApiError ? error.code : 'service_unavailable',
    message: error.message,
  };
  const isUnknown = isSent && error.mayHaveHappened;
  return isUnknown
    ? { index, instance_id, status: 'unknown', retry: 'same_key', refusal }
    : { index, instance_id, status: 'not_attempted', retry: 'after', refusal };
}

function summaryOf(results: readonly FleetResult[]): FleetSummary {
  const summary: FleetSummary = {
    ...{ applied: 0, replayed: 0, throttled: 0 },
    ...{ refused: 0, unknown: 0, not_attempted: 0 },
  };
  for (const { status } of results) summary[status] = Number(summary[status] ?? 0) + 1;
  return summary;
}
