/** The plans that are bought; free is what an account has without. */
export type BoughtPlan = 'indie' | 'pro';

/**
 * Status of a subscription. `trial`: tried out without a payment; `active`: no payment is missing;
 * `overdue`: a payment failed; `inactive`: gives no plan for now; `ended`: ended for good.
 */
export type SubscriptionStatus = 'trial' | 'active' | 'overdue' | 'inactive' | 'ended';

/** Terms of a subscription at one moment. Times are Unix milliseconds. */
export type SubscriptionTerms = {
  readonly plan: BoughtPlan;
  readonly status: SubscriptionStatus;
  /** End of the present period, paid or not. During a trial: end of the trial. */
  readonly periodEndsAtMs: number;
  /** Time at which the subscription ends by itself; absent: the subscription goes on. */
  readonly endsAtMs?: number;
  /** Set while the provider does not collect payments of the subscription. */
  readonly isPaused?: true;
};

/** A description of a subscription by the provider. */
export type DescriptionFact = SubscriptionTerms & {
  readonly kind: 'description';
  readonly eventId: string;
  readonly atMs: number;
  readonly change: 'created' | 'updated' | 'deleted';
  /** Terms before this change; absent: the event does not have it. */
  readonly before?: SubscriptionTerms;
  /** The newest invoice of the subscription. */
  readonly invoiceId?: string;
  /** Set if invoices are sent and paid later: such a subscription is active before any payment. */
  readonly isInvoiced?: true;
};

/** A time of a plan on an invoice. `isCredit`: the invoice gives money back for this time. */
export type InvoiceLine = {
  readonly plan: BoughtPlan;
  readonly fromMs: number;
  readonly throughMs: number;
  readonly isCredit?: true;
};

/** The outcome of an invoice. `written_off`: voided, or marked as uncollectible. */
export type InvoiceFact = {
  readonly kind: 'invoice';
  readonly eventId: string;
  readonly atMs: number;
  readonly invoiceId: string;
  readonly outcome: 'paid' | 'failed' | 'written_off';
  readonly lines: readonly InvoiceLine[];
};

/** What the provider reported about one subscription at one moment. */
export type SubscriptionFact = DescriptionFact | InvoiceFact;

/** All facts about one subscription: a set, in the order of time and event id. */
export type BilledSubscription = {
  readonly id: string;
  readonly facts: readonly SubscriptionFact[];
};

/**
 * The payment of an invoice was taken back (a full refund, a dispute whose funds were withdrawn), or
 * given back to the seller (a dispute that was won).
 */
export type ReturnFact = {
  readonly eventId: string;
  readonly atMs: number;
  readonly invoiceId: string;
  readonly outcome: 'taken' | 'reinstated';
};

/** A customer of the provider, and when it was last heard of. */
export type BilledCustomer = { readonly id: string; readonly atMs: number };

/** What the payment provider has said of an account. A value: nothing changes one. */
export type BillingRecord = {
  /** Newest first: what is bought next, is bought as the first of them. */
  readonly customers: readonly BilledCustomer[];
  /** In the order of their ids. */
  readonly subscriptions: readonly BilledSubscription[];
  /** In the order of time and event id. */
  readonly returns: readonly ReturnFact[];
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
