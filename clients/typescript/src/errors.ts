import type { Limits } from './limits.ts';
import type { ErrorCode, ErrorDetails, ErrorReason } from './models.ts';

/** Every error of this package but the one of a cancelled call, which is the signal's own reason. */
export class IdentityEngineError extends Error {
  /** How many requests the call made; 0 where none was sent. */
  readonly attempts: number;

  constructor(message: string, { attempts = 0, ...options }: ErrorFacts = {}) {
    super(message, options);
    this.name = new.target.name;
    this.attempts = attempts;
  }
}

/** The cause of an error, and how many requests its call made. */
export type ErrorFacts = ErrorOptions & { readonly attempts?: number };

/** What the service said with a refusal. */
export type Refusal = {
  readonly code: ErrorCode;
  readonly message: string;
  readonly status: number;
  readonly requestId: string | undefined;
  readonly details: ErrorDetails | undefined;
  readonly retryAfterS: number | undefined;
  readonly limits: Limits | undefined;
  readonly mayHaveHappened: boolean;
  readonly attempts: number;
};

/**
 * The service refused the call (interface 7). A code that has no class of its own here is an `ApiError` itself.
 * `message` is like `422 invalid_request: must be at most 1, field signal_strength, reason out_of_range, request
 * req_…`.
 */
export class ApiError extends IdentityEngineError {
  /** Text of the service for people; it may change. */
  readonly text: string;
  /** Code of the refusal; a later release of the service may have others. */
  readonly code: ErrorCode;
  /** HTTP status. */
  readonly status: number;
  /** `X-Request-Id` of the refused request. */
  readonly requestId: string | undefined;
  /** JSON path, parameter or header that is wrong, such as `observations[3].timestamp`. */
  readonly field: string | undefined;
  /** A stable token that says why. */
  readonly reason: ErrorReason | undefined;
  /** All that the service said beside code and message. */
  readonly details: ErrorDetails | undefined;
  /** Whole seconds after which the same call makes sense again; undefined where the service names none. */
  readonly retryAfterS: number | undefined;
  /** What is left of the account's limits. */
  readonly limits: Limits | undefined;
  /**
   * Whether the call, in this or an earlier attempt of it, may have changed something. The same call with the
   * same idempotency key gives the true outcome.
   */
  readonly mayHaveHappened: boolean;

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
  }
}

/** The text of a refusal, with what an operator looks for. */
function messageOf({ status, code, message, details, requestId }: Refusal): string {
  const about = { field: details?.field, reason: details?.reason, request: requestId };
  const named = Object.entries(about).filter(([, value]) => value !== undefined);
  return [`${status} ${code}: ${message}`, ...named.map((pair) => pair.join(' '))].join(', ');
}

/** 401: no key, or one that is not valid. */
export class UnauthorizedError extends ApiError {}
/** 403: the key's scope, the account or its plan does not allow the call. */
export class ForbiddenError extends ApiError {}
/** 404: there is no such thing, or it belongs to another account. */
export class NotFoundError extends ApiError {}
/** 400, 408, 413 to 431, 422: something of the request is wrong; `field` and `reason` say what. */
export class InvalidRequestError extends ApiError {}
/** 409: the instance has another version than `ifMatch`, exists already, or was just deleted. */
export class ConflictError extends ApiError {}
/** 429: the observation came too early; only with `strict`. Nothing changed. */
export class ThrottledError extends ApiError {}
/** 429: more requests in the minute, or more streams, than the plan allows. */
export class RateLimitedError extends ApiError {}
/** 429: the cycles of the month are used up. */
export class QuotaExceededError extends ApiError {}
/** 503: the service cannot answer now; `mayHaveHappened` says whether the outcome is open (interface 7.5). */
export class ServiceUnavailableError extends ApiError {}
/** 500: a fault of the service; `requestId` is what its operators look for. */
export class InternalServerError extends ApiError {}
/** 500: this installation has no payment provider. */
export class BillingProviderNotConfiguredError extends ApiError {}
/** 422: no plan that can be bought. */
export class InvalidPlanError extends ApiError {}
/** 400: of notifications of the payment provider only, which this client does not send. */
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

/** The error of a refusal, of the class of its code. */
export function apiError(refusal: Refusal): ApiError {
  const known = Object.hasOwn(CLASSES, refusal.code) ? CLASSES[refusal.code] : undefined;
  return new (known ?? ApiError)(refusal);
}

/** No answer: the connection was refused, reset or cut, or an attempt took longer than it may. */
export class ConnectionError extends IdentityEngineError {
  /** Whether the call, in this or an earlier attempt of it, may have changed something. */
  readonly mayHaveHappened: boolean;

  constructor(message: string, mayHaveHappened: boolean, facts?: ErrorFacts) {
    super(message, facts);
    this.mayHaveHappened = mayHaveHappened;
  }
}

/**
 * The call's own deadline passed, or no further attempt fits into it. `cause` is the error of the last attempt
 * that ended by itself, if any.
 */
export class DeadlineError extends IdentityEngineError {
  /** Whether the call, in any attempt of it, may have changed something. */
  readonly mayHaveHappened: boolean;

  constructor(timeoutMs: number, mayHaveHappened: boolean, facts: ErrorFacts = {}) {
    const { attempts = 0, cause } = facts;
    const last = cause instanceof Error ? `; last error: ${cause.message}` : '';
    super(`deadline of ${timeoutMs} ms exceeded, attempts: ${attempts}${last}`, facts);
    this.mayHaveHappened = mayHaveHappened;
  }
}

/** An answer that the service does not give, such as a proxy's page. */
export class MalformedAnswerError extends IdentityEngineError {
  /** HTTP status. */
  readonly status: number;
  /** `X-Request-Id`, where the answer had one. */
  readonly requestId: string | undefined;
  /** The first 200 characters of the body. */
  readonly excerpt: string;
  /** Whether the call, in this or an earlier attempt of it, may have changed something. */
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

/** How much of a foreign body an error keeps, in UTF-16 units. */
const EXCERPT_CHARACTERS_MAX = 200;
