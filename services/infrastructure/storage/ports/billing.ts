/** Plans that can be bought. An account without a bought plan has the free plan. */
export type BoughtPlan = 'indie' | 'pro';

/**
 * Status of a subscription. `trial`: used without a payment so far; `active`: no payment is
 * missing; `overdue`: a payment failed; `inactive`: gives no plan for now; `ended`: has ended
 * permanently.
 */
export type SubscriptionStatus = 'trial' | 'active' | 'overdue' | 'inactive' | 'ended';

/** Terms of a subscription at one moment. Times are Unix milliseconds. */
export type SubscriptionTerms = {
  readonly plan: BoughtPlan;
  readonly status: SubscriptionStatus;
  /** End of the current period, paid or not. During a trial: end of the trial. */
  readonly periodEndsAtMs: number;
  /** Time at which the subscription ends by itself; absent if it continues. */
  readonly endsAtMs?: number;
  /** Set while the provider does not collect payments for the subscription. */
  readonly isPaused?: true;
};

/** Provider's description of a subscription. */
export type DescriptionFact = SubscriptionTerms & {
  readonly kind: 'description';
  readonly eventId: string;
  readonly atMs: number;
  readonly change: 'created' | 'updated' | 'deleted';
  /** Terms before this change; absent if the event does not contain them. */
  readonly before?: SubscriptionTerms;
  /** The newest invoice of the subscription. */
  readonly invoiceId?: string;
  /** Set if invoices are sent and paid later. Such a subscription is active before any payment. */
  readonly isInvoiced?: true;
};

/** Time span of a plan on an invoice. `isCredit`: the invoice gives money back for this time. */
export type InvoiceLine = {
  readonly plan: BoughtPlan;
  readonly fromMs: number;
  readonly throughMs: number;
  readonly isCredit?: true;
};

/** Outcome of an invoice. `written_off`: voided, or marked as uncollectible. */
export type InvoiceFact = {
  readonly kind: 'invoice';
  readonly eventId: string;
  readonly atMs: number;
  readonly invoiceId: string;
  readonly outcome: 'paid' | 'failed' | 'written_off';
  readonly lines: readonly InvoiceLine[];
};

/** Payment provider's report on a subscription at one moment. */
export type SubscriptionFact = DescriptionFact | InvoiceFact;

/** All facts about one subscription: a set, ordered by time and event id. */
export type BilledSubscription = {
  readonly id: string;
  readonly facts: readonly SubscriptionFact[];
};

/**
 * Return of an invoice's payment. `taken`: a full refund, or a dispute with withdrawn funds.
 * `reinstated`: a dispute that the seller won.
 */
export type ReturnFact = {
  readonly eventId: string;
  readonly atMs: number;
  readonly invoiceId: string;
  readonly outcome: 'taken' | 'reinstated';
};

/** A customer of the provider, and the time of the provider's last report about the customer. */
export type BilledCustomer = { readonly id: string; readonly atMs: number };

/** All reports of the payment provider about an account. Immutable. */
export type BillingRecord = {
  /** Customers, newest first. The next purchase uses the first customer. */
  readonly customers: readonly BilledCustomer[];
  /** Subscriptions, ordered by id. */
  readonly subscriptions: readonly BilledSubscription[];
  /** Returned and reinstated payments, ordered by time and event id. */
  readonly returns: readonly ReturnFact[];
};

/** Billing record, and its revision for the optimistic lock. */
export type StoredBilling = { readonly record: BillingRecord; readonly revision: number };

/**
 * Reports of the payment provider, by account. A write is durable when its promise fulfils, and
 * every later read sees the write. Methods reject with `service_unavailable` if the store cannot be
 * reached; a write may then have happened.
 */
export interface BillingStore {
  /** Record of an account; undefined: none. */
  find(accountId: string): Promise<StoredBilling | undefined>;

  /** Account with which a customer was first stored; undefined if there is none. */
  accountOf(customerId: string): Promise<string | undefined>;

  /**
   * Stores a record if the stored record still has `revision` (0: no record exists). Returns
   * whether the record was stored. Links its customers to the account, except customers that are
   * already linked to another account.
   */
  put(accountId: string, revision: number, record: BillingRecord): Promise<boolean>;

  /** Deletes the record and the customers of an account. May be repeated. */
  erase(accountId: string): Promise<void>;
}
