import type { Limits } from './calls/limits.ts';
import type { ErrorCode, ErrorDetails, ErrorReason } from './models.ts';

/**
 * Base class for all errors in this package. Cancellation throws the signal's own reason instead.
 */
export class IdentityEngineError extends Error {
  /** Number of requests sent; 0 if none. */
  readonly attempts: number;

  constructor(message: string, { attempts = 0, ...options }: ErrorFacts = {}) {
    super(message, options);
    this.name = new.target.name;
    this.attempts = attempts;
  }
}

/** Optional facts of an error: its cause and the number of requests sent. */
export type ErrorFacts = ErrorOptions & { readonly attempts?: number };

/** Contents of a refusal. */
export type Refusal = {
  readonly code: ErrorCode;
  readonly message: string;
  readonly status: number;
  readonly headers: Headers;
  readonly requestId: string | undefined;
  readonly details: ErrorDetails | undefined;
  readonly retryAfterS: number | undefined;
  readonly limits: Limits | undefined;
  readonly mayHaveHappened: boolean;
  readonly attempts: number;
};

/**
 * The service refused the call (interface 7). Codes without a subclass use `ApiError` itself.
 * Example of `message`: `422 invalid_request: must be at most 1, field signal_strength, reason
 * out_of_range, request req_…`.
 */
export class ApiError extends IdentityEngineError {
  /** Human-readable text of the service; may change. */
  readonly text: string;
  /** Error code; later releases of the service may add codes. */
  readonly code: ErrorCode;
  /** HTTP status. */
  readonly status: number;
  /** `X-Request-Id` of the refused request. */
  readonly requestId: string | undefined;
  /** The invalid JSON path, parameter or header, such as `observations[3].timestamp`. */
  readonly field: string | undefined;
  /** Stable machine-readable reason. */
  readonly reason: ErrorReason | undefined;
  /** All fields of `details` in the refusal; undefined without details. */
  readonly details: ErrorDetails | undefined;
  /** Seconds until a retry can succeed; undefined if the answer names no delay. */
  readonly retryAfterS: number | undefined;
  /** Remaining account limits. */
  readonly limits: Limits | undefined;
  /**
   * Whether this or an earlier attempt may have taken effect. Repeating the call with the same
   * idempotency key returns the true outcome.
   */
  readonly mayHaveHappened: boolean;
  /** Private, so that a printed error stays short. */
  readonly #headers: Headers;

  constructor(refusal: Refusal) {
    super(messageOf(refusal), { attempts: refusal.attempts });
    this.text = refusal.message;
    this.code = refusal.code;
    this.status = refusal.status;
    this.requestId = refusal.requestId;
    this.field = refusal.details?.field;
    this.reason = refusal.details?.reason;
    this.details = refusal.details;
    this.retryAfterS = refusal.retryAfterS;
    this.limits = refusal.limits;
    this.mayHaveHappened = refusal.mayHaveHappened;
    this.#headers = refusal.headers;
  }

  /** All headers of the answer. */
  get headers(): Headers {
    return this.#headers;
  }
}

/** Message of a refusal, with the fields that an operator searches for. */
function messageOf({ status, code, message, details, requestId }: Refusal): string {
  const about = { field: details?.field, reason: details?.reason, request: requestId };
  const named = Object.entries(about).filter(([, value]) => value !== undefined);
  return [`${status} ${code}: ${message}`, ...named.map((pair) => pair.join(' '))].join(', ');
}

/** 401: the key is missing or invalid. */
export class UnauthorizedError extends ApiError {}
/** 403: the key's scope, the account or the plan does not allow the call. */
export class ForbiddenError extends ApiError {}
/** 404: the object does not exist or belongs to another account. */
export class NotFoundError extends ApiError {}
/**
 * 400, 408, 410, 413 to 431: the request is invalid; see `field` and `reason`. A 410 has the reason
 * `cursor_expired`.
 */
export class InvalidRequestError extends ApiError {}
/** 409: the version differs from `ifMatch`, or the instance already exists or was just deleted. */
export class ConflictError extends ApiError {}
/** 429: the observation came too early; thrown only with `strict`. Nothing changed. */
export class ThrottledError extends ApiError {}
/** 429: more requests per minute, or more streams, than the plan allows. */
export class RateLimitedError extends ApiError {}
/** 429: the monthly cycle quota is exhausted. */
export class QuotaExceededError extends ApiError {}
/**
 * 503: the service is unavailable; see `mayHaveHappened` for an unknown outcome (interface 7.5).
 */
export class ServiceUnavailableError extends ApiError {}
/** 500: an internal error of the service; report `requestId` to its operators. */
export class InternalServerError extends ApiError {}
/** 500: this installation has no payment provider. */
export class BillingProviderNotConfiguredError extends ApiError {}
/** 422: the plan cannot be bought. */
export class InvalidPlanError extends ApiError {}
/** 400: a payment provider's notification is invalid; this client sends no notifications. */
export class WebhookVerificationFailedError extends ApiError {}

const CLASSES: Readonly<Record<string, new (refusal: Refusal) => ApiError>> = {
  unauthorized: UnauthorizedError,
  forbidden: ForbiddenError,
  not_found: NotFoundError,
  invalid_request: InvalidRequestError,
  conflict: ConflictError,
  throttled: ThrottledError,
  rate_limited: RateLimitedError,
  quota_exceeded: QuotaExceededError,
  service_unavailable: ServiceUnavailableError,
  internal: InternalServerError,
  billing_provider_not_configured: BillingProviderNotConfiguredError,
  invalid_plan: InvalidPlanError,
  webhook_verification_failed: WebhookVerificationFailedError,
};

/** Creates the error of a refusal, with the class for its code. */
export function apiError(refusal: Refusal): ApiError {
  const known = Object.hasOwn(CLASSES, refusal.code) ? CLASSES[refusal.code] : undefined;
  return new (known ?? ApiError)(refusal);
}

/** No answer: the connection was refused, reset or cut, or the attempt timed out. */
export class ConnectionError extends IdentityEngineError {
  /** Whether this or an earlier attempt may have taken effect. */
  readonly mayHaveHappened: boolean;

  constructor(message: string, mayHaveHappened: boolean, facts?: ErrorFacts) {
    super(message, facts);
    this.mayHaveHappened = mayHaveHappened;
  }
}

/**
 * The call's deadline passed, or leaves no time for another attempt. `cause` is the error of the
 * last attempt that failed before the deadline, or of the only attempt.
 */
export class DeadlineError extends IdentityEngineError {
  /** Whether any attempt may have taken effect. */
  readonly mayHaveHappened: boolean;

  constructor(timeoutMs: number, mayHaveHappened: boolean, facts: ErrorFacts = {}) {
    const { attempts = 0, cause } = facts;
    const last = cause instanceof Error ? `; last error: ${cause.message}` : '';
    super(`deadline of ${timeoutMs} ms exceeded, attempts: ${attempts}${last}`, facts);
    this.mayHaveHappened = mayHaveHappened;
  }
}

/** The client cannot read the answer, such as a proxy's error page. */
export class MalformedAnswerError extends IdentityEngineError {
  /** HTTP status. */
  readonly status: number;
  /** `X-Request-Id`, if present. */
  readonly requestId: string | undefined;
  /** The first 200 characters of the body. */
  readonly excerpt: string;
  /** Whether this or an earlier attempt may have taken effect. */
  readonly mayHaveHappened: boolean;

  constructor(
    answer: { status: number; requestId: string | undefined; text: string },
    mayHaveHappened: boolean,
    facts?: ErrorFacts,
  ) {
    const request = answer.requestId === undefined ? '' : `, request ${answer.requestId}`;
    super(`answer ${answer.status} is not a valid answer of the service${request}`, facts);
    this.status = answer.status;
    this.requestId = answer.requestId;
    this.excerpt = answer.text.slice(0, EXCERPT_CHARACTERS_MAX);
    this.mayHaveHappened = mayHaveHappened;
  }
}

/** Maximum length of a body excerpt in an error, in UTF-16 units. */
const EXCERPT_CHARACTERS_MAX = 200;

/** An error of a call to the service. */
export type FailedCall = ApiError | ConnectionError | DeadlineError | MalformedAnswerError;

/** Whether an error describes a failed call, and not a misuse or an abort. */
export function isFailedCall(error: unknown): error is FailedCall {
  return (
    error instanceof ApiError ||
    error instanceof ConnectionError ||
    error instanceof DeadlineError ||
    error instanceof MalformedAnswerError
  );
}
