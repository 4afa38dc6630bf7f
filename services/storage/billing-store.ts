/** The plans that are bought; free is what an account has without (decision 28). */
export type BoughtPlan = 'indie' | 'pro';

/**
 * What a subscription is to the service. `active`: it is paid or being tried out; `overdue`: a
 * payment of it is missing; `inactive`: it gives nothing, for now; `ended`: for good.
 */
export type SubscriptionStatus = 'active' | 'overdue' | 'inactive' | 'ended';

/** A subscription as the provider described it at one moment. Times are Unix milliseconds. */
export type SubscriptionSnapshot = {
  /** The provider's own time of the description. */
  readonly atMs: number;
  /** Of two descriptions of one second, the one that follows: created 0, changed 1 and 2, ended 3. */
  readonly rank: number;
  /** Of two of the same rank, any, but always the same one. */
  readonly eventId: string;
  readonly plan: BoughtPlan;
  readonly status: SubscriptionStatus;
  readonly periodEndsAtMs: number;
  /** When it ends by itself; absent: it goes on. */
  readonly endsAtMs?: number;
};

/** All that is known of one subscription. */
export type BilledSubscription = {
  readonly id: string;
  /** Absent: only payments of it have been heard of. */
  readonly snapshot?: SubscriptionSnapshot;
  /** To when each plan was paid while the subscription was active on it. */
  readonly paidThroughMs: Readonly<Partial<Record<BoughtPlan, number>>>;
  /** When it was last heard to be paid, by the provider's time; absent: never. */
  readonly paidAtMs?: number;
  /** When it was heard not to be, since then, oldest first. */
  readonly failedAtMs: readonly number[];
};

/** A customer of the provider, and when it was last heard of. */
export type BilledCustomer = { readonly id: string; readonly atMs: number };

/** What the payment provider has said of an account. A value: nothing changes one. */
export type BillingRecord = {
  /** Newest first: what is bought next, is bought as the first of them. */
  readonly customers: readonly BilledCustomer[];
  /** In the order of their ids. */
  readonly subscriptions: readonly BilledSubscription[];
};

/** A record and the revision that a change of it must find again. */
export type StoredBilling = { readonly record: BillingRecord; readonly revision: number };

/**
 * What the payment provider has said of accounts. Every write is durable when its promise fulfils
 * and is seen by every later read. Every method rejects with `service_unavailable` when the store
 * cannot be reached; then a write may have happened.
 */
export interface BillingStore {
  /** What is known of an account; undefined: nothing. */
  find(accountId: string): Promise<StoredBilling | undefined>;

  /** The account that a customer was first stored with; undefined: none. */
  accountOf(customerId: string): Promise<string | undefined>;

  /**
   * Stores a record with the next revision, if the stored one still has `revision`; 0: if there is
   * none. Answers whether it did. Its customers lead to the account from then on, except those that
   * lead to another one already.
   */
  put(accountId: string, revision: number, record: BillingRecord): Promise<boolean>;

  /** Forgets an account and its customers. May be repeated. */
  erase(accountId: string): Promise<void>;
}
