import { type Answer, type Failure, readAttempt } from '../answer.ts';
import { assertAttempts, assertTimeMs, type Settings } from '../client-options.ts';
import { DeadlineError, NotFoundError } from '../errors.ts';
import { toJson } from '../json.ts';
import { attempt, type Request } from './attempt.ts';
import { type Call, targetOf } from './call.ts';
import type { CallOptions } from './call-options.ts';
import { Deadline } from './deadline.ts';
import { reportAttempt } from './report-attempt.ts';
import { assertCarried, extraHeaders } from './request-headers.ts';
import { fittedMs, mayRepeat, waitMs } from './retry.ts';
import { injectContext } from './tracing.ts';

/** Sends the calls of a client, each with retries and a deadline. */
export class Caller {
  readonly settings: Settings;

  constructor(settings: Settings) {
    this.settings = settings;
  }

  /**
   * Sends a call and retries it until its deadline. Throws `DeadlineError` after the deadline.
   * Throws the error of the last attempt (`ApiError`, `ConnectionError`, `MalformedAnswerError`) if
   * a retry cannot help, after `attemptsMax` attempts, or if the answer requests a delay beyond the
   * deadline. Throws the caller's abort reason, and an `IdentityEngineError` for values that
   * headers or bodies cannot carry.
   */
  async call(call: Call): Promise<Answer> {
    const { timeoutMs = this.settings.timeoutMs, signal } = call.options;
    const deadline = new Deadline(assertTimeMs('timeoutMs', timeoutMs), signal);
    const attemptsMax = assertAttempts(call.options.attemptsMax ?? this.settings.attemptsMax);
    const request = this.#requestOf(call);
    const beganAtMs = performance.now();
    let last: Failure | undefined;
    for (let attempts = 1; ; attempts += 1) {
      const ordinal = { attempts, attemptsMax, beganAtMs };
      const outcome = await this.#attempt(call, request, deadline, ordinal, last);
      if (outcome.kind === 'success') return outcome;
      last = outcome;
      await deadline.pause(outcome.waitMs);
    }
  }

  /** Headers of the client, extra headers, the call's own headers, and the trace context. */
  headersOf(call: Pick<Call, 'headers'> & { options: HeaderOptions }): Record<string, string> {
    const { requestId, headers: extra } = call.options;
    const headers: Record<string, string> = {
      ...this.settings.headers,
      ...(extra === undefined ? {} : extraHeaders(extra)),
    };
    if (requestId !== undefined) headers['x-request-id'] = requestId;
    for (const [name, value] of Object.entries(call.headers ?? {})) {
      if (value !== undefined) headers[name] = value;
    }
    assertCarried(headers);
    injectContext(headers);
    return headers;
  }

  #requestOf(call: Call): Request {
    const headers = this.headersOf(call);
    if (call.body !== undefined) headers['content-type'] = 'application/json';
    return {
      url: this.settings.baseUrl + targetOf(call),
      method: call.method,
      headers,
      body: call.body === undefined ? undefined : toJson(call.body),
    };
  }

  /**
   * Sends one attempt. Returns the answer, or the failure with the delay before the next attempt.
   * Throws the failure if no further attempt is made.
   */
  async #attempt(
    call: Call,
    request: Request,
    deadline: Deadline,
    { attempts, attemptsMax, beganAtMs: callBeganAtMs }: Ordinal,
    before: Failure | undefined,
  ): Promise<Answer | (Failure & { readonly waitMs: number })> {
    const { attemptTimeoutMs, fetch, integers, onAttempt } = this.settings;
    const startedMs = performance.now();
    const leftMs = deadline.leftMs();
    const attempted = await attempt(fetch, request, deadline, Math.min(attemptTimeoutMs, leftMs));
    const outcome = readAttempt(attempted, {
      ...{ isChange: call.isChange, attempts, attemptTimeoutMs, integers },
      wasUnclear: before?.error.mayHaveHappened ?? false,
      ...{ emptyStatus: emptyStatusOf(call), beganAtMs: startedMs, callBeganAtMs },
    });
    const { method, path } = call;
    const report = (retryInMs?: number) => {
      const said = outcome.kind === 'success' ? outcome.facts : outcome.error;
      reportAttempt(onAttempt, { method, path, attempts, startedMs }, said, retryInMs);
    };
    if (outcome.kind === 'success') {
      report();
      return outcome;
    }
    const { error, retryAfterMs } = outcome;
    if (call.repeatable === 'until_deleted' && isDeletedNow(error, before)) {
      report();
      return deletedAnswer(error, attempts, { beganAtMs: startedMs, callBeganAtMs });
    }
    const wait = fittedMs(waitMs(attempts, retryAfterMs, Math.random), retryAfterMs, deadline);
    const isAgain = attempts < attemptsMax && mayRepeat(outcome, call.repeatable);
    if (isAgain && wait !== undefined) {
      report(wait);
      return { ...outcome, waitMs: wait };
    }
    report();
    const isCut = attempted.kind === 'unanswered' && attempted.isLate && leftMs <= attemptTimeoutMs;
    const isOver = isAgain && (retryAfterMs ?? 0) < deadline.timeoutMs;
    if (!isCut && !isOver) throw error;
    const cause = isCut ? (before?.error ?? error) : error;
    throw new DeadlineError(deadline.timeoutMs, error.mayHaveHappened, { attempts, cause });
  }
}

/** Number of an attempt in its call. */
type Ordinal = {
  /** Attempt number, from 1. */
  readonly attempts: number;
  readonly attemptsMax: number;
  /** Start of the first attempt, in monotonic milliseconds. */
  readonly beganAtMs: number;
};

/** Call options that become headers. */
type HeaderOptions = Pick<CallOptions, 'requestId' | 'headers'>;

function emptyStatusOf({ method, headers, mayBeEmpty }: Call): 204 | 304 | undefined {
  if (headers?.['if-none-match'] !== undefined) return 304;
  return method === 'DELETE' || mayBeEmpty === true ? 204 : undefined;
}

/** Whether a 404 means that an earlier attempt of this DELETE succeeded. */
function isDeletedNow(
  error: Failure['error'],
  before: Failure | undefined,
): error is NotFoundError {
  return error instanceof NotFoundError && (before?.error.mayHaveHappened ?? false);
}

/** Success of a DELETE whose first answer was lost. The caller adds the instance id. */
function deletedAnswer(
  error: NotFoundError,
  attempts: number,
  times: Pick<Answer, 'beganAtMs' | 'callBeganAtMs'>,
): Answer {
  const { status, requestId, limits, headers } = error;
  return {
    kind: 'success',
    facts: { status, requestId, limits, headers, attempts, etag: undefined, isReplayed: false },
    body: undefined,
    ...times,
  };
}
