import type { AccountEvent, PaymentEvent, SubscriptionEvent } from '#billing/provider';
import type {
  BilledCustomer,
  BilledSubscription,
  BillingRecord,
  BoughtPlan,
  DescriptionFact,
  InvoiceFact,
  InvoiceLine,
  ReturnFact,
  SubscriptionFact,
  SubscriptionTerms,
} from '#storage/ports/billing';

/*
 * Facts about an account's subscriptions, from notifications in any order and with repetitions. A
 * record is a set of the newest facts, so equal notifications give equal records (decision 300).
 * `stateOf` evaluates the facts by time.
 */

/** Maximum number of customers per account. Usually 1; concurrent purchases can create more. */
const CUSTOMERS_MAX = 8;

/** Maximum number of subscriptions per account, newest first. Usually a single one is active. */
const SUBSCRIPTIONS_MAX = 8;

/** Maximum number of facts per subscription, newest first. A month adds two or three. */
const FACTS_MAX = 48;

/** Maximum number of refunds and disputes per account, newest first. */
const RETURNS_MAX = 24;

/** Record for an account without notifications. */
export const NO_BILLING: BillingRecord = { customers: [], subscriptions: [], returns: [] };

/** Adds `event` to the record. A known event changes nothing. */
export function applied(record: BillingRecord, event: AccountEvent): BillingRecord {
  const customers = withCustomer(record.customers, { id: event.customerId, atMs: event.atMs });
  switch (event.kind) {
    case 'customer':
      return { ...record, customers };
    case 'return': {
      const { id: eventId, atMs, invoiceId, outcome } = event;
      const returns = withFact(record.returns, { eventId, atMs, invoiceId, outcome }, RETURNS_MAX);
      return { ...record, customers, returns };
    }
    case 'subscription':
    case 'payment': {
      const { subscriptionId: id } = event;
      const known = record.subscriptions.find((one) => one.id === id)?.facts ?? [];
      const next = { id, facts: withFact(known, factOf(event), FACTS_MAX) };
      const others = record.subscriptions.filter((one) => one.id !== id);
      return { ...record, customers, subscriptions: newestOf([...others, next]) };
    }
  }
}

function factOf(event: SubscriptionEvent | PaymentEvent): SubscriptionFact {
  const { id: eventId, customerId: _, accountId: _account, subscriptionId: _id, ...rest } = event;
  if (rest.kind === 'payment') return { ...rest, eventId, kind: 'invoice' };
  return { ...rest, eventId, kind: 'description' };
}

/** The newest `max` facts, ordered by time and event id. A repeated event is stored only once. */
function withFact<Fact extends SubscriptionFact | ReturnFact>(
  known: readonly Fact[],
  fact: Fact,
  max: number,
): Fact[] {
  return [...known.filter(({ eventId }) => eventId !== fact.eventId), fact]
    .sort((a, b) => a.atMs - b.atMs || compareText(a.eventId, b.eventId))
    .slice(-max);
}

function withCustomer(
  customers: readonly BilledCustomer[],
  heard: BilledCustomer,
): BilledCustomer[] {
  const known = customers.find(({ id }) => id === heard.id);
  const newest = known !== undefined && known.atMs > heard.atMs ? known : heard;
  return [...customers.filter(({ id }) => id !== heard.id), newest]
    .sort((a, b) => b.atMs - a.atMs || compareText(a.id, b.id))
    .slice(0, CUSTOMERS_MAX);
}

/** The newest subscriptions, ordered by id. */
function newestOf(subscriptions: readonly BilledSubscription[]): BilledSubscription[] {
  return subscriptions
    .toSorted((a, b) => newsMsOf(b) - newsMsOf(a) || compareText(a.id, b.id))
    .slice(0, SUBSCRIPTIONS_MAX)
    .sort((a, b) => compareText(a.id, b.id));
}

function newsMsOf({ facts }: BilledSubscription): number {
  return facts.at(-1)?.atMs ?? 0;
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}

/**
 * Period for which a plan was paid or credited. `invoiceId` undefined: only a description proves
 * the payment.
 */
export type Payment = InvoiceLine & { readonly invoiceId: string | undefined };

/** Subscription state after all facts. Times are Unix milliseconds. */
export type SubscriptionState = {
  /** The newest terms; undefined: only invoices arrived so far. */
  readonly terms: SubscriptionTerms | undefined;
  /** Time at which the newest terms were reported. */
  readonly atMs: number;
  readonly payments: readonly Payment[];
  /** The trial with its actual end; undefined: there was no trial. */
  readonly trial: { readonly plan: BoughtPlan; readonly throughMs: number } | undefined;
  /**
   * Time of the first failed payment of each unpaid invoice, in Unix milliseconds, by invoice id.
   * The empty id stands for an unknown invoice.
   */
  readonly failures: ReadonlyMap<string, number>;
  /** Plans whose newest invoice was written off. */
  readonly writtenOff: ReadonlySet<BoughtPlan>;
};

const NOTHING: SubscriptionState = {
  terms: undefined,
  atMs: 0,
  payments: [],
  trial: undefined,
  failures: new Map(),
  writtenOff: new Set(),
};

/** Evaluates the facts about a subscription in time order. */
export function stateOf(
  { facts }: BilledSubscription,
  returns: readonly ReturnFact[],
): SubscriptionState {
  let state = NOTHING;
  for (const second of secondsOf(facts)) {
    let descriptions = second.filter((fact) => fact.kind === 'description');
    while (descriptions.length > 0) {
      const next = followingOf(descriptions, state.terms);
      descriptions = descriptions.filter((fact) => fact !== next);
      state = described(state, next);
    }
    const invoices = second.filter((fact) => fact.kind === 'invoice');
    for (const outcome of ['failed', 'written_off', 'paid'] as const) {
      for (const fact of invoices) if (fact.outcome === outcome) state = invoiced(state, fact);
    }
  }
  return { ...state, payments: remaining(state.payments, returns) };
}

/** Groups facts by time, because Stripe's timestamps are in whole seconds. */
function secondsOf(facts: readonly SubscriptionFact[]): SubscriptionFact[][] {
  return [...Map.groupBy(facts, ({ atMs }) => atMs).values()];
}

/**
 * The earliest description among several with the same second. A creation precedes changes, and a
 * deletion follows them. Among changes, prefers a change that starts from the present terms, then a
 * change whose starting terms no other change in this second produces.
 */
function followingOf(
  candidates: readonly DescriptionFact[],
  present: SubscriptionTerms | undefined,
): DescriptionFact {
  const rank = { created: 0, updated: 1, deleted: 2 } as const;
  const lowest = Math.min(...candidates.map(({ change }) => rank[change]));
  const open = candidates.filter(({ change }) => rank[change] === lowest);
  const starts = open.filter(({ before }) => before && present && isSame(before, present));
  const roots = open.filter(
    (one) => !open.some((other) => other !== one && one.before && isSame(one.before, other)),
  );
  const [first] = [...starts, ...roots.toSorted(byProgress), ...open];
  if (first === undefined) throw new Error('a second without descriptions has no next description');
  return first;
}

/** Tie-break: `inactive` precedes all other statuses. */
function byProgress(a: DescriptionFact, b: DescriptionFact): number {
  return Number(b.status === 'inactive') - Number(a.status === 'inactive');
}

function isSame(a: SubscriptionTerms, b: SubscriptionTerms): boolean {
  return (
    a.plan === b.plan &&
    a.status === b.status &&
    a.periodEndsAtMs === b.periodEndsAtMs &&
    a.endsAtMs === b.endsAtMs &&
    a.isPaused === b.isPaused
  );
}

function described(state: SubscriptionState, fact: DescriptionFact): SubscriptionState {
  const { plan, status, periodEndsAtMs, endsAtMs, isPaused } = fact;
  const terms: SubscriptionTerms = {
    ...{ plan, status, periodEndsAtMs },
    ...(endsAtMs !== undefined && { endsAtMs }),
    ...(isPaused === true && { isPaused }),
  };
  const earlier = state.terms ?? fact.before;
  const proof = firstPayment(state, fact);
  return {
    ...state,
    terms,
    atMs: fact.atMs,
    payments: proof === undefined ? state.payments : [...state.payments, proof],
    trial: trialAfter(state, earlier, fact),
    failures: failuresAfter(state, fact),
  };
}

/**
 * The first payment, if a description proves the payment: Stripe activates a subscription when its
 * first invoice is paid. Later periods and plan switches need invoices as proof.
 */
function firstPayment(state: SubscriptionState, fact: DescriptionFact): Payment | undefined {
  if (state.payments.length > 0 || fact.isInvoiced === true) return undefined;
  const earlier = state.terms ?? fact.before;
  const isStart = earlier === undefined || earlier.status === 'inactive';
  const terms = isStart ? fact : state.terms === undefined ? earlier : undefined;
  if (terms?.status !== 'active') return undefined;
  const { plan, periodEndsAtMs: throughMs } = terms;
  const invoiceId = isStart ? fact.invoiceId : undefined;
  return { plan, fromMs: Math.min(fact.atMs, throughMs), throughMs, invoiceId };
}

function trialAfter(
  { trial }: SubscriptionState,
  earlier: SubscriptionTerms | undefined,
  { plan, status, periodEndsAtMs, endsAtMs = periodEndsAtMs, atMs }: DescriptionFact,
): SubscriptionState['trial'] {
  if (status === 'trial') return { plan, throughMs: Math.min(periodEndsAtMs, endsAtMs) };
  const last =
    trial ??
    (earlier?.status === 'trial'
      ? { plan: earlier.plan, throughMs: earlier.periodEndsAtMs }
      : undefined);
  return last && { ...last, throughMs: Math.min(last.throughMs, atMs) };
}

function failuresAfter(
  { failures }: SubscriptionState,
  { status, atMs }: DescriptionFact,
): ReadonlyMap<string, number> {
  if (status === 'active' || status === 'trial') return NOTHING.failures;
  return status === 'overdue' && failures.size === 0 ? new Map([['', atMs]]) : failures;
}

function invoiced(state: SubscriptionState, fact: InvoiceFact): SubscriptionState {
  const { invoiceId, outcome, lines, atMs } = fact;
  const sold = lines.filter(({ isCredit }) => isCredit !== true).map(({ plan }) => plan);
  if (outcome === 'failed') {
    const isPaid = state.payments.some((payment) => payment.invoiceId === invoiceId);
    if (isPaid || state.failures.has(invoiceId)) return state;
    // An earlier description without an invoice may have reported this failure.
    const sinceMs = Math.min(atMs, state.failures.get('') ?? atMs);
    const failures = new Map([...state.failures, [invoiceId, sinceMs]] as const);
    failures.delete('');
    return { ...state, failures };
  }
  const failures = new Map(state.failures);
  failures.delete(invoiceId);
  failures.delete('');
  if (outcome === 'written_off') {
    return { ...state, failures, writtenOff: new Set([...state.writtenOff, ...sold]) };
  }
  const writtenOff = new Set([...state.writtenOff].filter((plan) => !sold.includes(plan)));
  const payments = [...state.payments, ...lines.map((line) => ({ ...line, invoiceId }))];
  return { ...state, failures, writtenOff, payments };
}

/** Payments that remain after subtracting credited periods and returned payments. */
function remaining(payments: readonly Payment[], returns: readonly ReturnFact[]): Payment[] {
  const takenAtMs = takenBack(returns);
  const takenMs = ({ invoiceId }: Payment) =>
    invoiceId === undefined ? undefined : takenAtMs.get(invoiceId);
  const credits = payments.filter((one) => one.isCredit === true && takenMs(one) === undefined);
  const sold = payments.filter(({ isCredit }) => isCredit !== true);
  return sold
    .filter((payment) => !isInvoicedToo(payment, sold))
    .map((payment) => {
      const ends = credits
        .filter(({ plan, invoiceId }) => plan === payment.plan && invoiceId !== payment.invoiceId)
        .filter(({ fromMs }) => fromMs >= payment.fromMs && fromMs < payment.throughMs)
        .map(({ fromMs }) => fromMs);
      const throughMs = Math.min(
        payment.throughMs,
        takenMs(payment) ?? Number.POSITIVE_INFINITY,
        ...ends,
      );
      return { ...payment, throughMs };
    });
}

/** Whether an invoice reports the same payment as a description without an invoice. */
function isInvoicedToo({ plan, invoiceId, throughMs }: Payment, sold: readonly Payment[]): boolean {
  if (invoiceId !== undefined) return false;
  const invoiced = sold.filter((one) => one.plan === plan && one.invoiceId !== undefined);
  return invoiced.some((one) => one.throughMs >= throughMs);
}

/** Invoices whose money was returned to the customer, with the return time. */
export function takenBack(returns: readonly ReturnFact[]): ReadonlyMap<string, number> {
  const taken = new Map<string, number>();
  for (const { invoiceId, outcome, atMs } of returns) {
    if (outcome === 'reinstated') taken.delete(invoiceId);
    else if (!taken.has(invoiceId)) taken.set(invoiceId, atMs);
  }
  return taken;
}
