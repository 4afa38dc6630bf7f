import type { CallOptions } from '../calls/call-options.ts';
import type { Caller } from '../calls/caller.ts';
import { Deadline } from '../calls/deadline.ts';
import { fittedMs, waitMs } from '../calls/retry.ts';
import { ApiError, type FailedCall, isFailedCall, MalformedAnswerError } from '../errors.ts';
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
 * observations that failed for a passing reason. Throws the error of the first call. If a later call
 * fails, its observations are `unknown` or `not_attempted`.
 */
export async function processFleet(
  caller: Caller,
  observations: readonly FleetObservation[],
  options: FleetOptions,
): Promise<Result<ProcessedFleet>> {
  const list = new FleetList(caller, options);
  for (const part of partsOf(observations.map(keyed))) await list.send(part);
  return list.result();
}

/** The calls of one list of observations. */
class FleetList {
  readonly #caller: Caller;
  readonly #options: FleetOptions;
  readonly #results: FleetResult[] = [];
  /** Instances whose later observations are not sent, to keep their order. */
  readonly #blocked = new Set<string>();
  #last: Result<ProcessedFleet> | undefined;
  #attempts = 0;
  /** Failure of a call, after which nothing is sent. */
  #failure: FailedCall | undefined;

  constructor(caller: Caller, options: FleetOptions) {
    this.#caller = caller;
    this.#options = options;
  }

  /** Sends the next observations, at most one call with its repetitions. */
  async send(part: readonly Item[]): Promise<void> {
    const isSent = (item: Item) =>
      this.#failure === undefined && !this.#blocked.has(item.instance_id);
    const sent = part.filter(isSent);
    const isNeeded = sent.length > 0 || this.#last === undefined;
    const answers = isNeeded ? await this.#answersTo(sent) : [];
    const answerTo = new Map(sent.map((item, at) => [item, answers[at]]));
    for (const item of part) {
      const result = answerTo.get(item) ?? notAttempted(item);
      if (isOpen(result)) this.#blocked.add(item.instance_id);
      this.#results.push({ ...result, index: this.#results.length });
    }
  }

  /** Results of all observations, with the facts of the last answer. */
  result(): Result<ProcessedFleet> {
    if (this.#last === undefined) throw new Error('there is always a call');
    const data = { summary: summaryOf(this.#results), results: this.#results };
    return { ...this.#last, attempts: this.#attempts, data };
  }

  async #answersTo(sent: readonly Item[]): Promise<readonly FleetResult[]> {
    try {
      this.#last = await processPart(this.#caller, sent, this.#options);
      this.#attempts += this.#last.attempts;
      return this.#last.data.results;
    } catch (error) {
      // The results of earlier calls must not be lost.
      if (this.#last === undefined || !isFailedCall(error)) throw error;
      this.#failure = error;
      return sent.map((item) => failed(item, error));
    }
  }
}

/** Whether later observations of the instance must wait for this observation. */
function isOpen({ status }: FleetResult): boolean {
  return status === 'unknown' || status === 'refused' || status === 'not_attempted';
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
  let sent = 0;
  const send = async (some: readonly Item[]) => {
    const body = { observations: some, include_state: includeState };
    const call = { method: 'POST', path: '/process', body, repeatable: 'always' } as const;
    const left = {
      ...{ ...options, timeoutMs: Math.max(1, deadline.leftMs()) },
      attemptsMax: attemptsMax - sent,
    };
    const answer = await caller.call({ ...call, isChange: true, options: left });
    const answered = resultOf<ProcessedFleet>(answer);
    sent += answered.attempts;
    if (answered.data?.results?.length === some.length) return answered;
    const { status, requestId } = answered;
    throw new MalformedAnswerError({ status, requestId, text: '' }, true);
  };
  let result = await send(items);
  const results = [...result.data.results];
  for (let rounds = 1; sent < attemptsMax; rounds += 1) {
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

function unlessFailure(error: unknown): undefined {
  if (!isFailedCall(error)) throw error;
}

/** Codes of refusals after which the same call is refused again. */
const FINAL_CODES: ReadonlySet<string> = new Set([
  ...['unauthorized', 'forbidden', 'not_found', 'invalid_request'],
]);

/** Result of an observation whose call failed. */
function failed({ instance_id, idempotency_key }: Item, error: FailedCall): FleetResult {
  const isRefused = error instanceof ApiError;
  const refusal = {
    error: isRefused ? error.code : 'service_unavailable',
    message: error.message,
  };
  const named = { index: 0, instance_id, idempotency_key, refusal };
  if (error.mayHaveHappened) return { ...named, status: 'unknown', retry: 'same_key' };
  const isFinal = isRefused && FINAL_CODES.has(error.code);
  const wait = isRefused && error.retryAfterS !== undefined ? error.retryAfterS : undefined;
  const retry = isFinal ? 'never' : 'after';
  return { ...named, status: 'not_attempted', retry, ...(wait && { retry_after: wait }) };
}

function notAttempted({ instance_id, idempotency_key }: Item): FleetResult {
  return { index: 0, instance_id, idempotency_key, status: 'not_attempted', retry: 'after' };
}

function summaryOf(results: readonly FleetResult[]): FleetSummary {
  const summary: FleetSummary = {
    ...{ applied: 0, replayed: 0, throttled: 0 },
    ...{ refused: 0, unknown: 0, not_attempted: 0 },
  };
  for (const { status } of results) summary[status] = Number(summary[status] ?? 0) + 1;
  return summary;
}
