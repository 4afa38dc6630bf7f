import type { Attempt } from './attempt.ts';
import { apiError, ConnectionError, MalformedAnswerError } from './errors.ts';
import { fromJson, type Integers } from './json.ts';
import { limitsOf, retryAfterMsOf } from './limits.ts';
import type { ErrorBody } from './models.ts';
import type { AnswerFacts } from './result.ts';

/** A success of the service. */
export type Answer = {
  readonly kind: 'success';
  readonly facts: AnswerFacts;
  readonly headers: Headers;
  /** The parsed body; undefined for a status without one. */
  readonly body: Envelope | undefined;
  /** When the attempt that was answered began, in milliseconds of the steady clock. */
  readonly beganAtMs: number;
  /** When the first attempt of the call did. */
  readonly callBeganAtMs: number;
};

/** The JSON frame of a success (interface 2.1). */
type Envelope = { readonly data: unknown; readonly pagination?: unknown };

/** An attempt that did not succeed. */
export type Failure = {
  readonly kind: 'failure';
  readonly error: FailureError;
  /** How long the answer asks to wait, in milliseconds. */
  readonly retryAfterMs: number | undefined;
};

type FailureError = ReturnType<typeof apiError> | ConnectionError | MalformedAnswerError;

/** What decides how an attempt is read. */
export type Reading = {
  /** Whether the call may change something. */
  readonly isChange: boolean;
  /** Whether an earlier attempt of the same call may have. */
  readonly wasUnclear: boolean;
  /** Ordinal of the attempt, from 1. */
  readonly attempts: number;
  readonly attemptTimeoutMs: number;
  /** When it began, and when the first attempt of the call did, in milliseconds of the steady clock. */
  readonly beganAtMs: number;
  readonly callBeganAtMs: number;
  /** The status without a body that the call may be answered with: 304 for a condition, 204 for a DELETE. */
  readonly emptyStatus: 204 | 304 | undefined;
  readonly integers: Integers;
};

/** Reads what an attempt came to. */
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

function readAnswer(response: Response, text: string, reading: Reading): Answer | Failure {
  const { status, headers } = response;
  const body = text === '' ? undefined : parsed(text, reading.integers);
  const isEmpty = status === reading.emptyStatus;
  const isSuccess = isEmpty || (response.ok && isEnvelope(body));
  if (!isSuccess || !isOfService(headers)) return failureOf(response, text, body, reading);
  const facts = {
    ...{ status, attempts: reading.attempts, limits: limitsOf(headers) },
    requestId: headers.get('x-request-id') ?? undefined,
    etag: headers.get('etag') ?? undefined,
    isReplayed: headers.get('idempotent-replayed') === 'true',
  };
  const { beganAtMs, callBeganAtMs } = reading;
  const envelope = isEnvelope(body) ? body : undefined;
  return { kind: 'success', facts, headers, body: envelope, beganAtMs, callBeganAtMs };
}

function failureOf(
  { status, headers, ok }: Response,
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
    ...{ code, message, details, status, requestId, limits: limitsOf(headers), attempts },
    retryAfterS: retryAfterMs === undefined ? undefined : retryAfterMs / 1_000,
    mayHaveHappened: wasUnclear || (isChange && isOpen(status, body)),
  });
  return { kind: 'failure', error, retryAfterMs };
}

/** Reasons of a 503 that leave open whether something happened. Source: interface 7.5. */
const OPEN_REASONS: ReadonlySet<unknown> = new Set([
  'deadline_exceeded',
  'outcome_unknown',
  'engine_unavailable',
]);

/** Codes of refusals that come before anything is done, whatever their status. */
const CERTAIN_CODES: ReadonlySet<string> = new Set([
  ...['invalid_request', 'billing_provider_not_configured'],
]);

/** Whether a refusal of the service leaves open that the call took effect. */
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

/** Whether an answer is the service's: all of those have `X-Request-Id` (interface 2.1). */
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
