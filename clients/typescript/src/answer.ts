import type { Attempt, FetchAnswer } from './calls/attempt.ts';
import { limitsOf, retryAfterMsOf } from './calls/limits.ts';
import { apiError, ConnectionError, MalformedAnswerError } from './errors.ts';
import { fromJson, type Integers } from './json.ts';
import type { ErrorBody } from './models.ts';
import type { AnswerFacts } from './result.ts';

/** A successful answer of the service. */
export type Answer = {
  readonly kind: 'success';
  readonly facts: AnswerFacts;
  /** Parsed body; undefined for a status without a body. */
  readonly body: Envelope | undefined;
  /** Start of the successful attempt, in monotonic milliseconds. */
  readonly beganAtMs: number;
  /** Start of the first attempt, in monotonic milliseconds. */
  readonly callBeganAtMs: number;
};

/** JSON envelope of a success (interface 2.1). */
type Envelope = {
  readonly data: unknown;
  readonly pagination?: unknown;
  readonly as_of?: unknown;
};

/** A failed attempt. */
export type Failure = {
  readonly kind: 'failure';
  readonly error: FailureError;
  /** Delay requested by the answer, in milliseconds. */
  readonly retryAfterMs: number | undefined;
};

type FailureError = ReturnType<typeof apiError> | ConnectionError | MalformedAnswerError;

/** Context for classifying an attempt. */
export type Reading = {
  /** Whether the call may change state. */
  readonly isChange: boolean;
  /** Whether an earlier attempt may have taken effect. */
  readonly wasUnclear: boolean;
  /** Attempt number, from 1. */
  readonly attempts: number;
  readonly attemptTimeoutMs: number;
  /** Start of this attempt, in monotonic milliseconds. */
  readonly beganAtMs: number;
  /** Start of the first attempt, in monotonic milliseconds. */
  readonly callBeganAtMs: number;
  /** Expected status without a body: 304 for a conditional GET, 204 for a DELETE. */
  readonly emptyStatus: 204 | 304 | undefined;
  readonly integers: Integers;
};

/** Classifies an attempt as success or failure. */
export function readAttempt(attempt: Attempt, reading: Reading): Answer | Failure {
  if (attempt.kind === 'answered') return readAnswer(attempt.response, attempt.text, reading);
  const { wasSent, isLate, cause } = attempt;
  const text = isLate ? `no answer within ${reading.attemptTimeoutMs} ms` : textOf(cause);
  const mayHaveHappened = reading.wasUnclear || (reading.isChange && wasSent);
  const { attempts } = reading;
  const facts = isLate ? { attempts } : { attempts, cause };
  const error = new ConnectionError(text, mayHaveHappened, facts);
  return { kind: 'failure', error, retryAfterMs: undefined };
}

function readAnswer(response: FetchAnswer, text: string, reading: Reading): Answer | Failure {
  const { status, headers } = response;
  const body = text === '' ? undefined : parsed(text, reading.integers);
  const isEmpty = status === reading.emptyStatus;
  const isSuccess = isEmpty || (response.ok && isEnvelope(body));
  if (!isSuccess || !isOfService(headers)) return failureOf(response, text, body, reading);
  const facts = {
    ...{ status, headers, attempts: reading.attempts, limits: limitsOf(headers) },
    requestId: headers.get('x-request-id') ?? undefined,
    etag: headers.get('etag') ?? undefined,
    isReplayed: headers.get('idempotent-replayed') === 'true',
  };
  const { beganAtMs, callBeganAtMs } = reading;
  const envelope = isEnvelope(body) ? body : undefined;
  return { kind: 'success', facts, body: envelope, beganAtMs, callBeganAtMs };
}

function failureOf(
  { status, headers, ok }: FetchAnswer,
  text: string,
  body: unknown,
  { isChange, wasUnclear, attempts }: Reading,
): Failure {
  const requestId = headers.get('x-request-id') ?? undefined;
  const askedMs = retryAfterMsOf(headers, Date.now());
  if (ok || !isErrorBody(body) || !isOfService(headers)) {
    const error = new MalformedAnswerError({ status, requestId, text }, wasUnclear || isChange, {
      attempts,
    });
    return { kind: 'failure', error, retryAfterMs: askedMs };
  }
  const { error: code, message, details, retry_after: retryAfterS } = body;
  const retryAfterMs = askedMs ?? (retryAfterS === undefined ? undefined : retryAfterS * 1_000);
  const error = apiError({
    ...{ code, message, details, status, headers, requestId, attempts },
    limits: limitsOf(headers),
    retryAfterS: retryAfterMs === undefined ? undefined : retryAfterMs / 1_000,
    mayHaveHappened: wasUnclear || (isChange && isOpen(status, body)),
  });
  return { kind: 'failure', error, retryAfterMs };
}

/** Reasons of a 503 answer after which the outcome is unknown. Source: interface 7.5. */
const OPEN_REASONS: ReadonlySet<unknown> = new Set([
  'deadline_exceeded',
  'outcome_unknown',
  'engine_unavailable',
]);

/** Error codes that the service sends only if the call changed nothing, whatever the status. */
const CERTAIN_CODES: ReadonlySet<string> = new Set([
  ...['invalid_request', 'billing_provider_not_configured'],
]);

/** Whether the call may have taken effect despite the refusal. */
function isOpen(status: number, body: ErrorBody): boolean {
  if (status < 400) return true;
  if (status < 500) return false;
  if (status === 503) return OPEN_REASONS.has(body.details?.reason);
  return !CERTAIN_CODES.has(body.error);
}

function parsed(text: string, integers: Integers): unknown {
  try {
    return fromJson(text, integers);
  } catch {
    return undefined;
  }
}

/** Whether the service sent the answer: the service always sets `X-Request-Id` (interface 2.1). */
function isOfService(headers: Headers): boolean {
  return headers.get('x-request-id') !== null;
}

function isEnvelope(body: unknown): body is Envelope {
  if (typeof body !== 'object' || body === null || !('data' in body)) return false;
  return typeof body.data === 'object' && body.data !== null;
}

function isErrorBody(body: unknown): body is ErrorBody {
  if (typeof body !== 'object' || body === null) return false;
  const { error, message } = body as Partial<ErrorBody>;
  return typeof error === 'string' && typeof message === 'string';
}

function textOf(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause);
  const { cause: inner } = cause;
  return inner instanceof Error && inner.message !== ''
    ? `${cause.message}: ${inner.message}`
    : cause.message;
}
