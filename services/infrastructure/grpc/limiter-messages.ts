/** Messages between the edge and a limiter, as domain data. Source: architecture 4. */

import type { Traced } from '#telemetry/tracer';

/**
 * Permanent name of a call. Two calls are the same if and only if both numbers are equal. Only the
 * edge can compute the name of a call with an `Idempotency-Key`. Source: architecture 3.5.
 */
export type CallName = {
  /** Integer below 2^52, so that every language represents the number exactly. */
  readonly callId: number;
  /** Another 52 bits of a keyed call, which make collisions negligible; otherwise 0. */
  readonly callTag: number;
};

/**
 * Requests admission of a call by a key or a member. One verdict covers key, account, minute window
 * and monthly quota. A repeated admission of the same call reserves only once.
 */
export type AdmitCall = Traced &
  CallName & {
    readonly kind: 'admit';
    readonly accountId: string;
    /** SHA-256 of the whole API key, base64url. The secret itself never leaves the edge. */
    readonly keyDigest: string;
    /**
     * Set if the console calls for a member whom it has signed in and whose role allows the call.
     * Such a call has no key, and `keyDigest` names the session. Source: decision 253.
     */
    readonly isOfMember?: true | undefined;
    /** Scope that the call needs. Source: decision 310. */
    readonly scope: 'read' | 'full' | 'audit' | 'billing' | 'any';
    /** Cycles to reserve. */
    readonly cycles: number;
    /**
     * Whether the limiter may reserve fewer cycles if the quota has not enough left. The answer then
     * has the number. The call is refused only if no cycle is left.
     */
    readonly isPartial?: true | undefined;
    /** Number of requests that the call counts as. Default: 1. */
    readonly requests?: number | undefined;
    /** Whether the answer describes the caller if the call is admitted. */
    readonly isCallerDescribed?: boolean;
    /** The caller's address as received by the edge. An edge of release 1.0 omits the address. */
    readonly address?: string | undefined;
    /**
     * The caller's program in printable ASCII, empty if unknown. The edge sends the program until a
     * call with this key is admitted through the edge in the current minute.
     */
    readonly client?: string | undefined;
  };

/** Refunds the unused cycles of an admitted call. Has no effect if the reservation is unknown. */
export type SettleCall = Traced &
  CallName & {
    readonly kind: 'settle';
    readonly accountId: string;
    /** Number of cycles that actually advanced, at most the reserved number. */
    readonly cyclesUsed: number;
    /**
     * Further cycles that may have advanced, because calls to engines had an unknown outcome. The
     * limiter charges these cycles, and counts them as expired. Default: 0.
     */
    readonly cyclesUnknown?: number | undefined;
    /**
     * Number of the reservation, from the answer to the admission. A late copy of this message must
     * not settle a later reservation of the same call. Undefined if the edge has no such answer.
     */
    readonly reservation?: number | undefined;
  };

/**
 * Call about an account that involves no meter, for example to its audit trail. Any limiter can
 * answer such a call. Limiters of release 1.0 refuse such a call.
 */
export type AccountCall = Traced &
  CallName & {
    readonly kind: 'account';
    readonly accountId: string;
    /** Name of the call, from a closed set. The limiter checks name and body. */
    readonly name: string;
    /** Arguments of the call, as JSON data. */
    readonly body: unknown;
  };

/** Call to a meter. */
export type MeteredCall = AdmitCall | SettleCall;

/** Call to a limiter. */
export type LimiterCall = MeteredCall | AccountCall;

/** Numbers for the rate-limit headers. Source: interface 8.2, limiter-headers. */
export type Allowance = {
  readonly requestsPerMinute: number;
  readonly requestsRemaining: number;
  /** Unix time in whole seconds at which the window ends. */
  readonly windowResetAtS: number;
  readonly cyclesPerMonth: number;
  readonly cyclesRemaining: number;
  /** Unix time in whole seconds at which the UTC month ends. */
  readonly monthResetAtS: number;
  /** Maximum number of instances that the account may have at the same time (decision 154). */
  readonly instances: number;
  /**
   * Model version that the account has chosen for its instances. Undefined if the account has not
   * chosen a version (decision 238).
   */
  readonly modelVersion?: string | undefined;
};

/** Verdict on an `AdmitCall`. `settled` answers a `SettleCall`, `answered` an `AccountCall`. */
export type Verdict =
  | 'admitted'
  | 'settled'
  | 'unknown_key'
  /** Only for a call with an address, because its sender supports this verdict. */
  | 'address_not_allowed'
  | 'read_only_key'
  | 'account_suspended'
  | 'rate_limited'
  | 'quota_exceeded'
  | 'answered';

/** Plan of the caller's account, and the key of the call. */
export type CallerDescription = {
  /** Name of the plan, as the API shows it. */
  readonly plan: string;
  readonly keyId: string;
  /** A `KeyScope`, or a scope of a later release. */
  readonly keyScope: string;
  /** Expiry of the key, in Unix milliseconds. Undefined if the key does not expire. */
  readonly keyExpiresAtMs: number | undefined;
};

/**
 * Answer of a limiter. `allowance` is undefined for `unknown_key`, so that no numbers of another
 * account leak, and for `answered`.
 */
export type LimiterAnswer = {
  readonly verdict: Verdict;
  readonly allowance: Allowance | undefined;
  /**
   * Only in the answer to an admitted call that requested the description. A limiter of an earlier
   * release omits the description.
   */
  readonly caller?: CallerDescription;
  /** Answer to an `AccountCall`: JSON data. */
  readonly body?: unknown;
  /**
   * Reservation number of an admitted call with cycles. Limiters of release 1.0 omit the number.
   */
  readonly reservation?: number | undefined;
  /** Number of reserved cycles. Only in the answer to an admitted call with `isPartial`. */
  readonly cycles?: number | undefined;
};

/**
 * Interface of a limiter for the edge. Throws `service_unavailable` if the verdict is uncertain.
 */
export interface LimiterClient {
  ask(call: LimiterCall): LimiterAnswer | Promise<LimiterAnswer>;
}
