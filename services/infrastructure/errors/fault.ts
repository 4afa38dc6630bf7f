import { FAULTS, type FaultCode } from '#errors/error-codes';
import {
  type AnyReason,
  codeOfReason,
  type FaultReason,
  httpOfReason,
} from '#errors/error-reasons';

/** Owner of a shard, as named by `not_owner`. Source: architecture 3.5. */
export type ShardOwner = {
  readonly incarnation: string;
  /** Address `host:port` of the owner's gRPC server. */
  readonly address: string;
  /** Fencing epoch. Grows with every change of the owner. */
  readonly epoch: number;
};

/** Optional details of a refusal. */
export type FaultOptions = {
  /**
   * Reason from a closed set. Some reasons change the HTTP status, for example to 400 instead of
   * 422.
   */
  reason?: AnyReason | undefined;
  /** Location of the invalid value: a JSON path, or the name of a parameter or header. */
  field?: string | undefined;
  /** Mode with too few answers (model 6). */
  mode?: string | undefined;
  /** First cycle whose state is available, with a refusal about a past state (interface 4.2). */
  firstCycle?: number | undefined;
  /** Recommended wait before a retry, in whole seconds. */
  retryAfterS?: number | undefined;
  /** Whether the refused call may have taken effect nevertheless. Source: architecture 4. */
  isOutcomeUnknown?: boolean;
  /** With `not_owner`: the current owner of the shard, if known. Never shown to callers. */
  owner?: ShardOwner | undefined;
  /** Original error, for the log only. Never shown to callers. */
  cause?: unknown;
};

/** Refusal of a call. `message` reaches the caller; `cause` reaches only the log. */
export class Fault extends Error {
  override readonly name = 'Fault';
  readonly code: FaultCode;
  readonly reason: AnyReason | undefined;
  readonly field: string | undefined;
  readonly mode: string | undefined;
  readonly firstCycle: number | undefined;
  readonly retryAfterS: number | undefined;
  readonly isOutcomeUnknown: boolean;
  readonly owner: ShardOwner | undefined;

  constructor(code: FaultCode, message: string, options: FaultOptions = {}) {
    super(message, { cause: options.cause });
    this.code = code;
    this.reason = options.reason;
    this.field = options.field;
    this.mode = options.mode;
    this.firstCycle = options.firstCycle;
    this.retryAfterS = options.retryAfterS;
    this.isOutcomeUnknown = options.isOutcomeUnknown ?? false;
    this.owner = options.owner;
  }

  /** HTTP status of this refusal. */
  get httpStatus(): number {
    return httpOfReason(this.reason) ?? FAULTS[this.code].http;
  }
}

/**
 * Converts any error to a Fault. An error that is not a Fault is a bug: the caller receives
 * `internal`, and the original text stays in the log.
 */
export function toFault(error: unknown): Fault {
  return error instanceof Fault ? error : new Fault('internal', 'internal error', { cause: error });
}

/** Creates a refusal with this reason and the code of the reason. */
export function faultFor(
  reason: AnyReason,
  message: string,
  options: Omit<FaultOptions, 'reason'> = {},
): Fault {
  return new Fault(codeOfReason(reason), message, { ...options, reason });
}

/** Creates a fault `invalid_request` about a field of the body, a parameter or a header. */
export function invalid(reason: FaultReason, field: string | undefined, message: string): Fault {
  return new Fault('invalid_request', message, { reason, field });
}
