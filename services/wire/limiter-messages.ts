/**
 * What the edge and a limiter say to each other, as domain data. Source: architecture 4.
 */

/** May this key make this call now? Decides key, account, minute and month at once. */
export type AdmitCall = {
  readonly kind: 'admit';
  readonly accountId: string;
  /** SHA-256 of the whole API key, base64url: the secret itself never leaves the edge. */
  readonly keyDigest: string;
  /** The call's id; admitting an id twice reserves once. */
  readonly callId: number;
  /** The scope that the call needs. Source: decision 20. */
  readonly scope: 'read' | 'full';
  /** Cycles to reserve; one request is always asked for. */
  readonly cycles: number;
};

/** Gives back what an admitted call did not use. An unknown reservation changes nothing. */
export type SettleCall = {
  readonly kind: 'settle';
  readonly accountId: string;
  readonly callId: number;
  /** Cycles that really advanced, at most what was reserved. */
  readonly cyclesUsed: number;
};

/** Anything the limiter can be asked. */
export type LimiterCall = AdmitCall | SettleCall;

/** The numbers behind the rate-limit headers. Source: spec 8.2, limiter-headers. */
export type Allowance = {
  readonly requestsPerMinute: number;
  readonly requestsRemaining: number;
  /** Unix time in whole seconds at which the window ends. */
  readonly windowResetAtS: number;
  readonly cyclesPerMonth: number;
  readonly cyclesRemaining: number;
  /** Unix time in whole seconds at which the UTC month ends. */
  readonly monthResetAtS: number;
};

/** The verdict on an `AdmitCall`, or the plain numbers after a `SettleCall` (`settled`). */
export type Verdict =
  | 'admitted'
  | 'settled'
  | 'unknown_key'
  | 'read_only_key'
  | 'account_suspended'
  | 'rate_limited'
  | 'quota_exceeded';

/** A limiter's answer. `allowance` is undefined only for `unknown_key`: never another's numbers. */
export type LimiterAnswer = {
  readonly verdict: Verdict;
  readonly allowance: Allowance | undefined;
};

/** The limiter as the edge sees it. Throws `service_unavailable` when it cannot be sure. */
export interface LimiterClient {
  ask(call: LimiterCall): LimiterAnswer | Promise<LimiterAnswer>;
}
