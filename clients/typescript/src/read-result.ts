import type { Answer } from './answer.ts';
import { retryAfterMsOf } from './limits.ts';
import type { NotModified, ProcessResult, Result } from './result.ts';

/** The data of an answer with what its headers say. */
export function resultOf<T>({ facts, body }: Answer): Result<T> {
  return { ...facts, data: body?.data as T, isNotModified: false };
}

/** The same for a GET that may be answered with "not modified". */
export function conditionalResultOf<T>(answer: Answer): Result<T> | NotModified {
  if (answer.facts.status !== 304) return resultOf(answer);
  return { ...answer.facts, data: undefined, isNotModified: true };
}

/** The same for an observation or a batch, which may have been throttled. */
export function processResultOf<T>(answer: Answer): ProcessResult<T> {
  const isThrottled = answer.headers.get('x-throttled') === 'true';
  const retryAfterMs = retryAfterMsOf(answer.headers, Date.now()) ?? CYCLE_INTERVAL_MS_MIN;
  return { ...resultOf<T>(answer), throttled: isThrottled ? { retryAfterMs } : undefined };
}

/** Between two observations of an instance there is at least this much time, in milliseconds. Source: interface 8.3. */
const CYCLE_INTERVAL_MS_MIN = 1_000;
