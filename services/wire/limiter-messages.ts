/** What the edge and a limiter say to each other, as domain data. Source: architecture 4. */

import type { Traced } from '#platform/tracer';

/**
 * What a call is called for good: two calls are one exactly if both numbers are the same. Only the
 * edge can compute those of a call with an `Idempotency-Key`. Source: architecture 3.5.
 */
export type CallName = {
  /** Below 2^52, so that it is exact as a number everywhere. */
  readonly callId: number;
  /** 52 bits more of a keyed call, so that no chance makes two of them one; else 0. */
  readonly callTag: number;
};

/**
 * May this key, or this member, make this call now? Decides key, account, minute and month at once.
 * Admitting a call twice reserves once.
 */
export type AdmitCall = Traced &
  CallName & {
    readonly kind: 'admit';
    readonly accountId: string;
    /** SHA-256 of the whole API key, base64url: the secret itself never leaves the edge. */
    readonly keyDigest: string;
    /**
     * The console calls for a member whom it has signed in and whose role allows the call: there is no
     * key, and `keyDigest` names the session. Source: decision 253.
     */
    readonly isOfMember?: true | undefined;
    /** The right that the call needs. Source: decision 310. */
    readonly scope: 'read' | 'full' | 'audit' | 'billing' | 'any';
    /** Cycles to reserve; one request is always asked for. */
    readonly cycles: number;
    /** Whether the answer describes the caller, if the call is admitted. */
    readonly isCallerDescribed?: boolean;
    /** The caller's address as the edge knows it; an edge of release 1.0 leaves it out. */
    readonly address?: string | undefined;
    /**
     * The caller's program in printable ASCII, empty: not known. Sent until the edge has had a call
     * of the key admitted in the present minute.
     */
    readonly client?: string | undefined;
  };

/** Gives back what an admitted call did not use. An unknown reservation changes nothing. */
export type SettleCall = Traced &
  CallName & {
    readonly kind: 'settle';
    readonly accountId: string;
    /** Cycles that really advanced, at most what was reserved. */
    readonly cyclesUsed: number;
  };

/**
 * What is neither admitted nor settled: the audit trail of an account. Any limiter answers it; those of
 * release 1.0 refuse it.
 */
export type AccountCall = Traced &
  CallName & {
    readonly kind: 'account';
    readonly accountId: string;
    /** Of a closed set, which the limiter checks as it checks the body. */
    readonly name: string;
    /** JSON data. */
    readonly body: unknown;
  };

/** What a meter answers. */
export type MeteredCall = AdmitCall | SettleCall;

/** Anything the limiter can be asked. */
export type LimiterCall = MeteredCall | AccountCall;

/** The numbers behind the rate-limit headers. Source: interface 8.2, limiter-headers. */
export type Allowance = {
  readonly requestsPerMinute: number;
  readonly requestsRemaining: number;
  /** Unix time in whole seconds at which the window ends. */
  readonly windowResetAtS: number;
  readonly cyclesPerMonth: number;
  readonly cyclesRemaining: number;
  /** Unix time in whole seconds at which the UTC month ends. */
  readonly monthResetAtS: number;
  /** Instances that the account may have at the same time (decision 154). */
  readonly instances: number;
  /** The model that the account has chosen for its instances; undefined: none (decision 238). */
  readonly modelVersion?: string | undefined;
};

/**
 * The verdict on an `AdmitCall`, the plain numbers after a `SettleCall` (`settled`), or the answer to an
 * `AccountCall` (`answered`).
 */
export type Verdict =
  | 'admitted'
  | 'settled'
  | 'unknown_key'
  /** Only on a call that says where it comes from: who does so knows the verdict. */
  | 'address_not_allowed'
  | 'read_only_key'
  | 'account_suspended'
  | 'rate_limited'
  | 'quota_exceeded'
  | 'answered';

/** The plan of the caller's account and the key that the call was made with. */
export type CallerDescription = {
  /** Name of the plan, as the API shows it. */
  readonly plan: string;
  readonly keyId: string;
  /** A `KeyScope`, or what a later release has beyond these. */
  readonly keyScope: string;
  /** Undefined: never. */
  readonly keyExpiresAtMs: number | undefined;
};

/**
 * A limiter's answer. `allowance` is undefined for `unknown_key`, never another's numbers, and for
 * `answered`.
 */
export type LimiterAnswer = {
  readonly verdict: Verdict;
  readonly allowance: Allowance | undefined;
  /**
   * Only in the answer to an admitted call that requested it; a limiter of an earlier release
   * leaves it out.
   */
  readonly caller?: CallerDescription;
  /** The answer to an `AccountCall`: JSON data. */
  readonly body?: unknown;
};

/** The limiter as the edge sees it. Throws `service_unavailable` when it cannot be sure. */
export interface LimiterClient {
  ask(call: LimiterCall): LimiterAnswer | Promise<LimiterAnswer>;
}
