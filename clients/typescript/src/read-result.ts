import type { Answer } from './answer.ts';
import { retryAfterMsOf } from './calls/limits.ts';
import type { NotModified, ProcessResult, Result } from './result.ts';

/** Makes a result of an answer: the data and the facts from the headers. */
export function resultOf<T>({ facts, body }: Answer): Result<T> {
  return { ...facts, data: body?.data as T, isNotModified: false };
}

/** Result of a GET that may return "not modified". */
export function conditionalResultOf<T>(answer: Answer): Result<T> | NotModified {
  if (answer.facts.status !== 304) return resultOf(answer);
  return { ...answer.facts, data: undefined, isNotModified: true };
}

/** Result of an observation or a batch, which may be throttled. */
export function processResultOf<T>(answer: Answer): ProcessResult<T> {
  const { headers } = answer.facts;
  const isThrottled = headers.get('x-throttled') === 'true';
  const retryAfterMs = retryAfterMsOf(headers, Date.now()) ?? CYCLE_INTERVAL_MS_MIN;
  return { ...resultOf<T>(answer), throttled: isThrottled ? { retryAfterMs } : undefined };
}

/** Minimum time between an instance's observations, in milliseconds. Source: interface 8.3. */
const CYCLE_INTERVAL_MS_MIN = 1_000;
