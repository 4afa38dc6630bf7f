import { FAULTS, type FaultCode } from '#fault/error-codes';
import { type AnyReason, codeOfReason, type FaultReason, httpOfReason } from '#fault/error-reasons';

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
  /** Why, from a closed set; it may move the HTTP status (400 instead of 422). */
  reason?: AnyReason | undefined;
  /** JSON path, parameter or header that is wrong. */
  field?: string | undefined;
  /** The mode whose answers are missing (model 6). */
  mode?: string | undefined;
  /** Whole seconds after which a retry makes sense. */
  retryAfterS?: number | undefined;
  /** Whether the refused call may have taken effect all the same. Source: architecture 4. */
  isOutcomeUnknown?: boolean;
  /** With `not_owner`: who owns the shard instead, if that is known. Never shown. */
  owner?: ShardOwner | undefined;
  /** For the log only; never shown. */
  cause?: unknown;
};

/** A refusal. Safe to show: `message` reaches the caller, `cause` only the log. */
export class Fault extends Error {
  override readonly name = 'Fault';
  readonly code: FaultCode;
  readonly reason: AnyReason | undefined;
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

/** The refusal for a reason, whose code follows from it. */
export function faultFor(
  reason: AnyReason,
  message: string,
  options: Omit<FaultOptions, 'reason'> = {},
): Fault {
  return new Fault(codeOfReason(reason), message, { ...options, reason });
}

/** An `invalid_request` about one field of a body, parameter or header. */
export function invalid(reason: FaultReason, field: string | undefined, message: string): Fault {
  return new Fault('invalid_request', message, { reason, field });
}
