import type { AccountWithKeys, KeyScope } from '#accounts/account';
import {
  type Instant,
  resetOfNewWindow,
  resetOfRunningWindow,
  WINDOW_MS,
} from '#accounts/minute-window';
import { monthEndOf } from '#accounts/month';
import type { Limits } from '#accounts/plan';
import { type HeldKey, keyRing, scopeInRing } from '#limiter/key-ring';
import { Reservations } from '#limiter/reservations';
import type {
  AdmitCall,
  Allowance,
  LimiterAnswer,
  LimiterCall,
  SettleCall,
  Verdict,
} from '#wire/limiter-messages';

/** What an account has used, for its owner's eyes. */
export type MeterUsage = {
  readonly limits: Limits;
  readonly requestsInWindow: number;
  /** Unix second at which the window ends; undefined between two windows. */
  readonly windowResetAtS: number | undefined;
  readonly cyclesUsed: number;
  readonly cyclesReserved: number;
  readonly monthResetAtS: number;
};

/** The answer to a key that is not known, and to every key of an account that is not. */
const UNKNOWN_KEY: LimiterAnswer = { verdict: 'unknown_key', allowance: undefined };

/** Limits of an account that does not exist. Nobody is ever told. */
const NOTHING: Limits = { requestsPerMinute: 0, cyclesPerMonth: 0 };

/** Bytes of a meter without its keys and reservations; measured in `test/limiter/memory.test.ts`. */
const METER_BYTES = 600;

/** Bytes per usable key: record and digest. */
const KEY_BYTES = 160;

/** Bytes per open reservation: record, map entry and its boxed numbers. */
const RESERVATION_BYTES = 140;

/**
 * Counts one account's requests and cycles and decides who may go on. Synchronous and without
 * timers: every call brings the time.
 *
 * Source: architecture 4; the order of checks is `#decide`.
 */
export class Meter {
  readonly accountId: string;
  /** Whether the account has changed and could not be read since: then nothing may be decided. */
  isStale = false;
  readonly #onExpired: () => void;
  #isAbsent = true;
  #isSuspended = false;
  #limits = NOTHING;
  #keys: readonly HeldKey[] = [];
  #windowEndsAtMs = Number.NEGATIVE_INFINITY;
  #windowResetAtS = 0;
  #windowRequests = 0;
  #month = 0;
  #monthEndsAtMs = 0;
  #cyclesUsed = 0;
  #cyclesReserved = 0;
  readonly #reservations = new Reservations();

  /** `onExpired` is called for every reservation that nobody settled in time. */
  constructor(accountId: string, record: AccountWithKeys | undefined, onExpired: () => void) {
    this.accountId = accountId;
    this.#onExpired = onExpired;
    this.adopt(record);
  }

  /** Takes the account as it is now. What was counted stays counted. */
  adopt(record: AccountWithKeys | undefined): void {
    this.isStale = false;
    this.#isAbsent = record === undefined;
    this.#isSuspended = record?.account.status === 'suspended';
    this.#limits = record?.account.limits ?? NOTHING;
    this.#keys = keyRing(record?.keys ?? []);
  }

  /** Whether there is no such account. */
  get isAbsent(): boolean {
    return this.#isAbsent;
  }

  /** Bytes held in memory, estimated. */
  get bytes(): number {
    const keyBytes = this.#keys.length * KEY_BYTES;
    return METER_BYTES + keyBytes + this.#reservations.size * RESERVATION_BYTES;
  }

  /** Whether the meter has counted nothing that still matters, so that a new one would decide alike. */
  isBlank(now: Instant): boolean {
    this.#bringUpTo(now);
    const isWindowOpen = now.monotonicMs < this.#windowEndsAtMs;
    const isMonthUntouched = this.#cyclesUsed === 0 && this.#cyclesReserved === 0;
    return !isWindowOpen && isMonthUntouched && this.#reservations.size === 0;
  }

  /** Decides an admission or takes a settlement. Throws `service_unavailable` at a bound. */
  answer(call: LimiterCall, now: Instant): LimiterAnswer {
    switch (call.kind) {
      case 'admit':
        return this.#admit(call, now);
      case 'settle':
        return this.#settle(call, now);
    }
  }

  /** What has been used so far. Undefined if there is no such account. */
  usage(now: Instant): MeterUsage | undefined {
    if (this.#isAbsent) return undefined;
    this.#bringUpTo(now);
    const allowance = this.#allowance(now);
    const isWindowOpen = now.monotonicMs < this.#windowEndsAtMs;
    return {
      limits: this.#limits,
      requestsInWindow: isWindowOpen ? this.#windowRequests : 0,
      windowResetAtS: isWindowOpen ? allowance.windowResetAtS : undefined,
      cyclesUsed: this.#cyclesUsed,
      cyclesReserved: this.#cyclesReserved,
      monthResetAtS: allowance.monthResetAtS,
    };
  }

  #admit(call: AdmitCall, now: Instant): LimiterAnswer {
    const scope = scopeInRing(this.#keys, call.keyDigest, now.nowMs);
    if (scope === undefined) return UNKNOWN_KEY;
    this.#bringUpTo(now);
    if (call.cycles > 0) this.#reservations.assertRoomFor(call.callId);
    const verdict = this.#decide(call, scope, now);
    return { verdict, allowance: this.#allowance(now) };
  }

  // The minute comes first and counts whatever passes it, so that no kind of refusal can be had
  // more often than the plan's requests; then what only the account's owner can change; the month
  // last, because only a call that may be made at all needs cycles.
  #decide(call: AdmitCall, scope: KeyScope, now: Instant): Verdict {
    if (!this.#countRequest(now)) return 'rate_limited';
    if (scope === 'read' && call.scope === 'full') return 'read_only_key';
    if (this.#isSuspended) return 'account_suspended';
    return this.#reserve(call, now) ? 'admitted' : 'quota_exceeded';
  }

  #countRequest(now: Instant): boolean {
    if (now.monotonicMs >= this.#windowEndsAtMs) {
      this.#windowEndsAtMs = now.monotonicMs + WINDOW_MS;
      this.#windowResetAtS = resetOfNewWindow(now.nowMs);
      this.#windowRequests = 0;
    }
    if (this.#windowRequests >= this.#limits.requestsPerMinute) return false;
    this.#windowRequests += 1;
    return true;
  }

  // A call with the id of an open reservation joins it and pays only for what it needs beyond it:
  // of all calls with one id at most one is ever committed.
  #reserve(call: AdmitCall, now: Instant): boolean {
    const open = this.#reservations.find(call.callId);
    const held = open?.month === this.#month ? open.cycles : 0;
    const missing = call.cycles - held;
    if (missing > 0 && missing > this.#cyclesRemaining()) return false;
    if (missing > 0) this.#cyclesReserved += missing;
    if (open === undefined) {
      if (missing > 0) {
        this.#reservations.open(call.callId, call.cycles, this.#month, now.monotonicMs);
      }
      return true;
    }
    open.callsOpen += 1;
    if (missing > 0) {
      open.cycles = call.cycles;
      open.month = this.#month;
    }
    return true;
  }

  #settle(call: SettleCall, now: Instant): LimiterAnswer {
    if (this.#isAbsent) return UNKNOWN_KEY;
    this.#bringUpTo(now);
    const open = this.#reservations.find(call.callId);
    if (open !== undefined) {
      open.callsOpen -= 1;
      open.used = Math.max(open.used, Math.min(call.cyclesUsed, open.cycles));
      // Cycles go back only when every call that shares them has said that it did not use them: the
      // refusal or replay of one must not pay back what another is using.
      if (open.callsOpen <= 0 || open.used === open.cycles) {
        this.#reservations.close(call.callId);
        this.#charge(open.month, open.cycles, open.used);
      }
    }
    return { verdict: 'settled', allowance: this.#allowance(now) };
  }

  /** Turns reserved into used cycles; what a past month's calls used or left is not this month's. */
  #charge(month: number, reserved: number, used: number): void {
    if (month !== this.#month) return;
    this.#cyclesReserved -= reserved;
    this.#cyclesUsed += used;
  }

  // The month never goes back: a wall clock that steps back over its end must not open the same
  // quota twice.
  #bringUpTo(now: Instant): void {
    if (now.nowMs >= this.#monthEndsAtMs) {
      this.#monthEndsAtMs = monthEndOf(now.nowMs);
      this.#month += 1;
      this.#cyclesUsed = 0;
      this.#cyclesReserved = 0;
    }
    for (;;) {
      const expired = this.#reservations.takeExpired(now.monotonicMs);
      if (expired === undefined) return;
      this.#charge(expired.month, expired.cycles, expired.cycles);
      this.#onExpired();
    }
  }

  #cyclesRemaining(): number {
    const used = this.#cyclesUsed + this.#cyclesReserved;
    return Math.max(0, this.#limits.cyclesPerMonth - used);
  }

  #allowance(now: Instant): Allowance {
    const { requestsPerMinute, cyclesPerMonth } = this.#limits;
    const isWindowOpen = now.monotonicMs < this.#windowEndsAtMs;
    const requests = isWindowOpen ? this.#windowRequests : 0;
    const announced = this.#windowResetAtS;
    this.#windowResetAtS = isWindowOpen
      ? resetOfRunningWindow(announced, this.#windowEndsAtMs, now)
      : resetOfNewWindow(now.nowMs);
    return {
      requestsPerMinute,
      requestsRemaining: Math.max(0, requestsPerMinute - requests),
      windowResetAtS: this.#windowResetAtS,
      cyclesPerMonth,
      cyclesRemaining: this.#cyclesRemaining(),
      monthResetAtS: this.#monthEndsAtMs / 1_000,
    };
  }
}
