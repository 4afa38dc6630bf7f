import { type FaultReason, httpOfReason, type PeerReason } from '#fault/reasons';

/**
 * The closed set of error codes and the only place where a code meets a status.
 * Adding a code is adding a row; TypeScript then points at every switch to revisit.
 * `grpc` is the numeric gRPC status; `isRetryable` is for callers and for the edge itself.
 * Source: spec 7, decisions 2, 4 and 36. The last three belong to billing and are listed so that
 * the catalog is complete before its routes exist.
 */
export const FAULTS = {
  unauthorized: { http: 401, grpc: 16, isRetryable: false },
  forbidden: { http: 403, grpc: 7, isRetryable: false },
  not_found: { http: 404, grpc: 5, isRetryable: false },
  invalid_request: { http: 422, grpc: 3, isRetryable: false },
  conflict: { http: 409, grpc: 10, isRetryable: true },
  throttled: { http: 429, grpc: 8, isRetryable: true },
  rate_limited: { http: 429, grpc: 8, isRetryable: true },
  quota_exceeded: { http: 429, grpc: 8, isRetryable: false },
  service_unavailable: { http: 503, grpc: 14, isRetryable: true },
  internal: { http: 500, grpc: 13, isRetryable: true },
  billing_provider_not_configured: { http: 500, grpc: 9, isRetryable: false },
  webhook_verification_failed: { http: 400, grpc: 3, isRetryable: false },
  invalid_plan: { http: 422, grpc: 3, isRetryable: false },
} as const satisfies Record<string, { http: number; grpc: number; isRetryable: boolean }>;

/** One of the error codes of spec 7. */
export type FaultCode = keyof typeof FAULTS;

/** Who owns a shard, as `not_owner` names it. Source: architecture 3.5. */
export type ShardOwner = {
  readonly incarnation: string;
  /** `host:port` of its gRPC server. */
  readonly address: string;
  /** Grows with every change of the owner. */
  readonly epoch: number;
};

/** What a refusal may add to its code and message. */
export type FaultOptions = {
  /** Why, from the closed set of decision 36; it may move the HTTP status (400 instead of 422). */
  reason?: FaultReason | PeerReason;
  /** JSON path, parameter or header that is wrong. */
  field?: string;
  /** The mode whose answers are missing (identity-model 6). */
  mode?: string;
  /** Whole seconds after which a retry makes sense. */
  retryAfterS?: number;
  /** Whether the refused call may have taken effect all the same. Source: architecture 4. */
  isOutcomeUnknown?: boolean;
  /** With `not_owner`: who owns the shard instead, if that is known. Never shown. */
  owner?: ShardOwner;
  /** For the log only; never shown. */
  cause?: unknown;
};

/** A refusal. Safe to show: `message` reaches the caller, `cause` only the log. */
export class Fault extends Error {
  override readonly name = 'Fault';
  readonly code: FaultCode;
  readonly reason: FaultReason | PeerReason | undefined;
  readonly field: string | undefined;
  readonly mode: string | undefined;
  readonly retryAfterS: number | undefined;
  readonly isOutcomeUnknown: boolean;
  readonly owner: ShardOwner | undefined;

  constructor(code: FaultCode, message: string, options: FaultOptions = {}) {
    super(message, { cause: options.cause });
    this.code = code;
    this.reason = options.reason;
    this.field = options.field;
    this.mode = options.mode;
    this.retryAfterS = options.retryAfterS;
    this.isOutcomeUnknown = options.isOutcomeUnknown ?? false;
    this.owner = options.owner;
  }

  /** The one HTTP status of this refusal. */
  get httpStatus(): number {
    return httpOfReason(this.reason) ?? FAULTS[this.code].http;
  }
}

/** Whatever is not a Fault is our bug: it becomes `internal` and its text stays in the log. */
export function toFault(error: unknown): Fault {
  return error instanceof Fault ? error : new Fault('internal', 'internal error', { cause: error });
}

/** An `invalid_request` about one field of a body, parameter or header. */
export function invalid(reason: FaultReason, field: string | undefined, message: string): Fault {
  return new Fault(
    'invalid_request',
    message,
    field === undefined ? { reason } : { reason, field },
  );
}
