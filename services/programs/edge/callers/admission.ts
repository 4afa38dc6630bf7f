import type { AccountNews } from '#accounts/account';
import type { NeededRight } from '#accounts/api-key';
import { type AddressWarnings, KeyNotes } from '#edge/callers/known-callers';
import {
  type Caller,
  type Headers,
  limitHeaders,
  secondsUntil,
  UNSURE_RESET_S,
  unauthorized,
  unknownHeaders,
  unsureHeaders,
  windowLeftS,
} from '#edge/http';
import type { AdmissionMetrics } from '#edge/serve/reply';
import { Fault, faultFor, toFault } from '#errors/fault';
import { ADDRESS_LENGTH_MAX } from '#grpc/call-bounds';
import { unknownCall } from '#grpc/frame';
import type {
  AdmitCall,
  Allowance,
  CallerDescription,
  LimiterAnswer,
  LimiterClient,
  SettleCall,
  Verdict,
} from '#grpc/limiter-messages';
import type { Clock } from '#stdlib/clock';
import { putNewest } from '#stdlib/hash-map';
import { traced } from '#telemetry/tracer';

/** Maximum accounts whose last figures are kept, for answers during a limiter outage. */
const LAST_KNOWN_MAX = 10_000;

const INVALID_KEY = 'the API key is not valid';

/** Placeholder for a missing or too long address. The limiter rejects an empty address. */
const NO_ADDRESS = 'unreadable';

/** A call for the limiter to admit, made with an API key or by an account member. */
export type AdmissionCall = {
  readonly caller: Caller;
  /** Client address, for counting refused keys and for keys bound to networks. */
  readonly address: string;
  /** The request's `User-Agent` header. */
  readonly userAgent?: string | undefined;
  readonly callId: number;
  readonly callTag: number;
  /** Whether id and tag derive from an `Idempotency-Key`; all retries share such an id. */
  readonly isKeyed: boolean;
  readonly scope: NeededRight;
  readonly cycles: number;
  /** Whether fewer cycles may be reserved. `Admitted.cycles` then has the number. */
  readonly isPartial?: true;
  /** Number of requests that the call counts as. Default: 1. */
  readonly requests?: number;
  /** Whether an admission describes the caller. */
  readonly isCallerDescribed?: boolean;
  /** The request's trace context; undefined if the request is not traced. */
  readonly traceparent?: string | undefined;
};

/** The limiter's decision about a call, with the rate-limit headers for the answer. */
export type Admitted = {
  readonly headers: Headers;
  readonly refusal: Fault | undefined;
  /**
   * Figures behind the headers; undefined if the caller is unknown or the limiter gave no answer.
   */
  readonly allowance: Allowance | undefined;
  /** Caller description; set only if requested and the call is admitted. */
  readonly description: CallerDescription | undefined;
  /** Reservation number at the limiter; undefined if nothing is reserved. */
  readonly reservation?: number | undefined;
  /**
   * Number of reserved cycles of a call with `isPartial`. Undefined if the limiter runs release 1.0,
   * which reserves all cycles or none.
   */
  readonly cycles?: number | undefined;
};

/**
 * Asks the limiter about every call and fails closed: without an answer, the call is refused
 * (decision 24). Only `rate_limited` is cached for later calls (architecture 4).
 */
export class Admission {
  readonly #limiter: LimiterClient;
  readonly #clock: Clock;
  readonly #metrics: AdmissionMetrics;
  readonly #keys: KeyNotes;
  readonly #limited: LimitedKeys;
  readonly #lastKnown = new Map<string, Allowance>();

  /** `warnings` reports addresses to the operator. */
  constructor(
    limiter: LimiterClient,
    clock: Clock,
    metrics: AdmissionMetrics,
    limited: LimitedKeys,
    warnings?: AddressWarnings,
  ) {
    this.#limiter = limiter;
    this.#clock = clock;
    this.#metrics = metrics;
    this.#limited = limited;
    this.#keys = new KeyNotes(clock, warnings);
  }

  /**
   * The refusal for a call from a barred address, before its body is read; undefined if the limiter
   * may be asked.
   */
  refusalUnasked(caller: Caller, request: { readonly ip: string }): Fault | undefined {
    return this.#keys.isBarred({ caller, address: request.ip }) ? this.#notLookedUp() : undefined;
  }

  /** The cached refusal of a rate-limited call; undefined if the limiter must be asked. */
  rateLimited(call: AdmissionCall): Admitted | undefined {
    const limitedBy = this.#limited.find(call);
    if (limitedBy === undefined) return undefined;
    this.#metrics.refusedUnasked();
    return this.#decided('rate_limited', limitedBy, call.scope, undefined);
  }

  /** Asks the limiter for admission and reserves the call's cycles. Never throws. */
  async admit(call: AdmissionCall): Promise<Admitted> {
    const { caller, cycles } = call;
    const { accountId, member } = caller;
    if (!this.#keys.mayAsk(call)) {
      return refusedUnknown(unknownHeaders(this.#clock.wallMs()), this.#notLookedUp());
    }
    const limited = this.rateLimited(call);
    if (limited !== undefined) return limited;
    const startedMs = this.#clock.monotonicMs();
    const nowMs = this.#clock.wallMs();
    const client = this.#keys.clientDue(call, call.userAgent, nowMs);
    let answer: LimiterAnswer;
    try {
      const asked = this.#limiter.ask(questionOf(call, client));
      answer = asked instanceof Promise ? await asked : asked;
    } catch (error) {
      const fault = toFault(error);
      if (cycles > 0 && fault.isOutcomeUnknown) this.#giveBack(call);
      return this.#unsure(accountId, fault);
    }
    const seconds = (this.#clock.monotonicMs() - startedMs) / 1_000;
    this.#metrics.checked(seconds, call.traceparent);
    const { verdict, allowance } = answer;
    if (allowance === undefined) {
      this.#keys.unknown(call);
      const refusal = member === undefined ? unauthorized(INVALID_KEY) : unknownCall();
      return refusedUnknown(unknownHeaders(this.#clock.wallMs()), refusal);
    }
    this.#keys.known(call);
    this.#remember(accountId, allowance);
    if (client !== undefined && verdict === 'admitted') this.#keys.clientReported(call, nowMs);
    if (verdict === 'rate_limited') this.#limited.remember(call, allowance, startedMs);
    const decided = this.#decided(verdict, allowance, call.scope, answer.caller);
    const { reservation } = answer;
    if (reservation === undefined) return decided;
    return { ...decided, reservation, cycles: answer.cycles };
  }

  /**
   * Settles a call: reports the used cycles, charges `cyclesUnknown` further cycles, and refunds the
   * rest.
   *
   * A refund changes the figures in the headers, so the answer waits for a refund. Without a
   * refund, the answer does not wait. Returns the headers to send. Never throws.
   */
  async settle(
    call: AdmissionCall,
    cyclesUsed: number,
    { headers, reservation }: Pick<Admitted, 'headers' | 'reservation'>,
    cyclesUnknown = 0,
  ): Promise<Headers> {
    try {
      const settlement = settlementOf(call, cyclesUsed, reservation);
      if (cyclesUnknown > 0) Object.assign(settlement, { cyclesUnknown });
      const settled = this.#limiter.ask(settlement);
      if (cyclesUsed === call.cycles) {
        if (settled instanceof Promise) settled.catch(() => this.#metrics.unsettled());
        return headers;
      }
      const { allowance } = await settled;
      return allowance === undefined ? headers : limitHeaders(allowance, this.#clock.wallMs());
    } catch {
      // A reservation without settlement expires as used. The caller may lose a few cycles, but the
      // quota holds.
      this.#metrics.unsettled();
      return headers;
    }
  }

  /**
   * Refunds a reservation that the limiter may have granted after the deadline. The engine is not
   * called, so no cycle is used. For an id without reservation, the refund has no effect.
   */
  #giveBack(call: AdmissionCall): void {
    // All tries with a key share the call id, and another try may be using the cycles.
    if (call.isKeyed) return;
    const settle = async () => this.#limiter.ask(settlementOf(call, 0, undefined));
    settle().catch(() => this.#metrics.unsettled());
  }

  #decided(
    verdict: Verdict,
    allowance: Allowance,
    needed: NeededRight,
    description: CallerDescription | undefined,
  ): Admitted {
    const nowMs = this.#clock.wallMs();
    const refusal = refusalOf(verdict, allowance, needed, nowMs);
    return { headers: limitHeaders(allowance, nowMs), refusal, allowance, description };
  }

  /** The key was not looked up, so the refusal does not call the key invalid (decision 159). */
  #notLookedUp(): Fault {
    this.#metrics.notLookedUp();
    const text = 'your address sent too many refused keys; this key was not checked, retry';
    return faultFor('too_many_refused_keys', text, { retryAfterS: 1 });
  }

  #unsure(accountId: string, cause: Fault): Admitted {
    this.#metrics.failedClosed(cause.reason ?? cause.code);
    const headers = unsureHeaders(this.#lastKnown.get(accountId), this.#clock.wallMs());
    const refusal = faultFor('limiter_unavailable', 'the rate limiter cannot be reached', {
      retryAfterS: UNSURE_RESET_S,
      cause,
    });
    return refusedUnknown(headers, refusal);
  }

  #remember(accountId: string, allowance: Allowance): void {
    if (this.#lastKnown.has(accountId)) this.#lastKnown.set(accountId, allowance);
    else putNewest(this.#lastKnown, accountId, allowance, LAST_KNOWN_MAX);
  }
}

/** A refusal without figures: the caller is unknown, or the limiter gave no answer. */
function refusedUnknown(headers: Headers, refusal: Fault): Admitted {
  return { headers, refusal, allowance: undefined, description: undefined };
}

function questionOf(call: AdmissionCall, client: string | undefined): AdmitCall {
  const { caller, address, callId, callTag, scope, cycles, isCallerDescribed = false } = call;
  const { accountId, credential, member } = caller;
  const question: AdmitCall = {
    kind: 'admit',
    accountId,
    keyDigest: credential,
    callId,
    callTag,
    scope,
    cycles,
    isCallerDescribed,
    address: shownAddress(address),
    client,
  };
  if (member !== undefined) Object.assign(question, { isOfMember: true });
  const { isPartial, requests } = call;
  if (requests !== undefined) Object.assign(question, { isPartial, requests });
  return traced(question, call.traceparent);
}

/** The address to send to the limiter. A trusted proxy may report any text as the address. */
export function shownAddress(address: string): string {
  const { length } = address;
  return length > 0 && length <= ADDRESS_LENGTH_MAX ? address : NO_ADDRESS;
}

function settlementOf(
  call: AdmissionCall,
  cyclesUsed: number,
  reservation: number | undefined,
): SettleCall {
  const { caller, callId, callTag, traceparent } = call;
  const { accountId } = caller;
  const settle: SettleCall = { kind: 'settle', accountId, callId, callTag, cyclesUsed };
  if (reservation !== undefined) Object.assign(settle, { reservation });
  return traced(settle, traceparent);
}

function refusalOf(
  verdict: Verdict,
  allowance: Allowance,
  needed: NeededRight,
  nowMs: number,
): Fault | undefined {
  switch (verdict) {
    case 'admitted':
    case 'settled':
    case 'answered':
      return undefined;
    case 'unknown_key':
      return unauthorized(INVALID_KEY);
    case 'address_not_allowed':
      return faultFor('address_not_allowed', 'this key is not allowed from your address');
    case 'read_only_key':
      return outOfScope(needed);
    case 'account_suspended':
      return faultFor('account_suspended', 'the account is suspended');
    case 'rate_limited': {
      const retryAfterS = Math.max(1, windowLeftS(allowance, nowMs));
      return new Fault('rate_limited', 'too many requests this minute', { retryAfterS });
    }
    case 'quota_exceeded': {
      const retryAfterS = Math.max(1, secondsUntil(allowance.monthResetAtS, nowMs));
      return new Fault('quota_exceeded', 'the monthly quota is used up', { retryAfterS });
    }
  }
}

/** The refusal for a key without the scope `needed`. */
function outOfScope(needed: NeededRight): Fault {
  if (needed === 'full') return faultFor('read_only_key', 'this key is read-only');
  return faultFor('missing_scope', `this key does not have the scope ${needed}`);
}

/** Maximum cached refusals, and maximum recent changes. The oldest is evicted first. */
const ENTRIES_MAX = 10_000;

/**
 * How long a refusal is cached, in milliseconds: announcements can get lost. Source: decision 106.
 */
const REFUSAL_AGE_MS_MAX = 30_000;

/**
 * Time until an account change has reached all nodes, in milliseconds. Refusals requested within
 * this time may be outdated, so they are not cached. Source: architecture 4, decision 106.
 */
const CHANGE_MS = 1_000;

/** Parts of a call by which a cached refusal is found. */
type LimitedCall = {
  readonly caller: { readonly accountId: string; readonly credential: string };
  readonly scope: NeededRight;
};

type Limited = {
  readonly accountId: string;
  readonly allowance: Allowance;
  /** Time at which the cached refusal expires (monotonic, in milliseconds). */
  readonly endsAtMs: number;
};

/**
 * Caches `rate_limited` refusals by key and scope. Floods over the limit do not reach the limiter.
 *
 * An entry lasts until the window resets, the account changes or 30 s have passed. No other
 * refusals are cached. Without change announcements nothing is cached, because a change would go
 * unnoticed. Source: architecture 4.
 */
export class LimitedKeys implements Disposable {
  readonly #clock: Clock;
  readonly #limited = new Map<string, Limited>();
  /** Recently changed accounts, with change times, oldest first. */
  readonly #changedAtMs = new Map<string, number>();
  readonly #subscription: Disposable | undefined;

  constructor(clock: Clock, news: AccountNews | undefined) {
    this.#clock = clock;
    this.#subscription = news?.onChange((accountId, memberId) => {
      if (memberId === undefined) this.#forget(accountId);
    });
  }

  /** Figures from a cached refusal; undefined if the limiter must be asked. */
  find(call: LimitedCall): Allowance | undefined {
    // Fast path: nearly always no key is limited.
    if (this.#limited.size === 0) return undefined;
    const name = nameOf(call);
    const limited = this.#limited.get(name);
    if (limited === undefined) return undefined;
    if (this.#clock.monotonicMs() < limited.endsAtMs) return limited.allowance;
    this.#limited.delete(name);
    return undefined;
  }

  /**
   * Caches a `rate_limited` refusal. `askedAtMs` is the monotonic time when the limiter was asked.
   */
  remember(call: LimitedCall, allowance: Allowance, askedAtMs: number): void {
    if (this.#subscription === undefined) return;
    // A call that counts as several requests may be refused although a single request fits.
    if (allowance.requestsRemaining > 0) return;
    const { accountId } = call.caller;
    // The limiter may have answered before it received the change.
    const changedAtMs = this.#changedAtMs.get(accountId) ?? Number.NEGATIVE_INFINITY;
    if (askedAtMs < changedAtMs + CHANGE_MS) return;
    const leftMs = allowance.windowResetAtS * 1_000 - this.#clock.wallMs();
    if (leftMs <= 0) return;
    const endsAtMs = this.#clock.monotonicMs() + Math.min(leftMs, REFUSAL_AGE_MS_MAX);
    const limited = { accountId, allowance, endsAtMs };
    putNewest(this.#limited, nameOf(call), limited, ENTRIES_MAX);
  }

  /** Ends the subscription to account changes. */
  [Symbol.dispose](): void {
    this.#subscription?.[Symbol.dispose]();
  }

  // A scan of all entries takes 0.1 ms, and accounts change rarely.
  #forget(accountId: string): void {
    for (const [name, limited] of this.#limited) {
      if (limited.accountId === accountId) this.#limited.delete(name);
    }
    const nowMs = this.#clock.monotonicMs();
    for (const [other, atMs] of this.#changedAtMs) {
      if (nowMs < atMs + CHANGE_MS) break;
      this.#changedAtMs.delete(other);
    }
    putNewest(this.#changedAtMs, accountId, nowMs, ENTRIES_MAX);
  }
}

function nameOf({ caller, scope }: LimitedCall): string {
  return `${caller.credential} ${scope}`;
}
