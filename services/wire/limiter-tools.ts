/** What an account has used, for its owner's eyes. */
export type MeterUsage = {
  readonly limits: { readonly requestsPerMinute: number; readonly cyclesPerMonth: number };
  readonly requestsInWindow: number;
  /** Unix second at which the window ends; undefined between two windows. */
  readonly windowResetAtS: number | undefined;
  readonly cyclesUsed: number;
  readonly cyclesReserved: number;
  readonly monthResetAtS: number;
  /** Cycles of the month that may be granted without asking the journal again. */
  readonly monthMark: number;
  /** Requests of the window that may be granted without asking the journal again. */
  readonly windowMark: number;
  /** Of the used cycles: reserved and never settled. */
  readonly cyclesExpired: number;
  /** Of the used cycles: may have been lost in crashes. */
  readonly cyclesLost: number;
};

/** What operators may ask of one limiter of a cluster, besides the calls of edges. */
export interface LimiterTools {
  /**
   * What the account has used, as its owner counts it; undefined when there is no such account.
   * Rejects with `service_unavailable` (`not_owner`) when another limiter owns it.
   */
  usage(accountId: string): Promise<MeterUsage | undefined>;
  /** Begins the present month where the account's meter is in another one; answers as `usage`. */
  resetUsage(accountId: string): Promise<MeterUsage | undefined>;
}
