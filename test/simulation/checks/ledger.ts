import { type Fault, toFault } from '#errors/fault';
import type { AdmitCall, LimiterAnswer, LimiterClient, MeteredCall } from '#grpc/limiter-messages';
import type { JournalRecord } from '#storage/ports/journal';
import { Violation } from '#test/simulation/stored/version-index';

/** Granted and committed cycles of an account, by month and window. */
export type Grants = {
  /** Admitted requests, by the Unix second of their window's end. */
  readonly windows: Map<number, number>;
  /** Committed cycles, by the Unix second of their month's end. */
  readonly committed: Map<number, number>;
  /** Committed cycles of calls attempted in two months, which either may charge. */
  readonly committedInEither: number;
  /** Cycles of calls without an observed settlement: they may stay reserved and expire. */
  readonly unsettled: number;
};

/** One call over all its attempts. */
type Metered = {
  readonly accountId: string;
  cycles: number;
  /** Possible admissions, and completed settlements. */
  admissions: number;
  settlements: number;
  /** Whether an admission may arrive after its settlement, because no caller waited. */
  isUnsure: boolean;
  /** Months of its grants. */
  readonly months: Set<number>;
};

/** Cycles committed by one version of an instance, and the journal slots with a copy. */
type Committed = { readonly callId: number; readonly cycles: number; readonly places: Set<string> };

/**
 * Cycles and requests as seen by callers, edges and engines, for comparison with meters. Fails at
 * once if cycles are committed for a call without an admission.
 */
export class Ledger {
  /** Whether the scenario's plans apply; requests are only counted then. */
  isLimited = true;
  readonly #fail: (violation: Violation) => void;
  readonly #calls = new Map<number, Metered>();
  readonly #windows = new Map<string, Map<number, number>>();
  /** Cycles of every version of every instance; copies of a record count once. */
  readonly #committed = new Map<string, Committed>();

  constructor(fail: (violation: Violation) => void) {
    this.#fail = fail;
  }

  /** Wraps a limiter client to record its calls; `note` receives trace lines. */
  hearing(limiter: LimiterClient, note: (text: string) => void): LimiterClient {
    return {
      ask: async (call) => {
        if (call.kind === 'account') return await limiter.ask(call);
        const metered = this.#asked(call);
        try {
          const answer = await limiter.ask(call);
          this.#answered(call, metered, answer);
          if (isOfCycles(call)) note(`${textOf(call)}: ${answer.verdict}`);
          return answer;
        } catch (error) {
          this.#refused(call, metered, toFault(error));
          if (isOfCycles(call)) note(`${textOf(call)}: ${toFault(error).reason}`);
          throw error;
        }
      },
    };
  }

  /** These records became recoverable from a journal slot. */
  appended(incarnation: string, slot: number, records: readonly JournalRecord[]): void {
    for (const { actor, actorId, version, callId, event } of records) {
      if (actor !== 'instance') continue;
      const cycles = cyclesOf(event);
      if (cycles === 0) continue;
      const key = `${actorId} ${version}`;
      const known = this.#committed.get(key);
      const committed =
        known?.callId === callId ? known : { callId, cycles, places: new Set<string>() };
      committed.places.add(`${incarnation} ${slot}`);
      this.#committed.set(key, committed);
      if ((this.#calls.get(callId)?.months.size ?? 0) > 0) continue;
      this.#fail(new Violation(`${actorId} v${version}: call ${callId} was not admitted`));
    }
  }

  /** These records will not be recovered from this slot: their journal ended before it. */
  withdrawn(incarnation: string, slot: number, records: readonly JournalRecord[]): void {
    for (const { actorId, version, callId } of records) {
      const key = `${actorId} ${version}`;
      const committed = this.#committed.get(key);
      if (committed?.callId !== callId) continue;
      committed.places.delete(`${incarnation} ${slot}`);
      // Another node may have taken them over already.
      if (committed.places.size === 0) this.#committed.delete(key);
    }
  }

  /** All grants and commits of an account. */
  of(accountId: string): Grants {
    const committed = new Map<number, number>();
    let committedInEither = 0;
    const newest = this.#newestMonth(accountId);
    for (const { callId, cycles } of this.#committed.values()) {
      const call = this.#calls.get(callId);
      if (call?.accountId !== accountId) continue;
      const [month = 0, ...others] = call.months;
      // An unanswered attempt may have been admitted in the next month.
      if (others.length > 0 || (call.isUnsure && month < newest)) committedInEither += cycles;
      if (others.length === 0) committed.set(month, (committed.get(month) ?? 0) + cycles);
    }
    const windows = this.#windows.get(accountId) ?? new Map();
    const unsettled = this.#unsettled(accountId);
    return { windows, committed, committedInEither, unsettled };
  }

  #newestMonth(accountId: string): number {
    const calls = [...this.#calls.values()].filter((call) => call.accountId === accountId);
    return Math.max(0, ...calls.flatMap(({ months }) => [...months]));
  }

  #unsettled(accountId: string): number {
    let cycles = 0;
    for (const call of this.#calls.values()) {
      const isOpen = call.settlements < call.admissions || call.isUnsure;
      if (call.accountId === accountId && isOpen) cycles += call.cycles;
    }
    return cycles;
  }

  #asked(call: MeteredCall): Metered {
    const { callId, accountId } = call;
    const fresh = {
      accountId,
      cycles: 0,
      admissions: 0,
      settlements: 0,
      isUnsure: false,
      months: new Set<number>(),
    };
    const metered = this.#calls.get(callId) ?? fresh;
    this.#calls.set(callId, metered);
    if (call.kind === 'admit') {
      metered.cycles = Math.max(metered.cycles, call.cycles);
      if (call.cycles > 0) metered.admissions += 1;
    }
    return metered;
  }

  #answered(call: MeteredCall, metered: Metered, { verdict, allowance }: LimiterAnswer): void {
    if (call.kind === 'settle') {
      metered.settlements += 1;
    } else if (verdict !== 'admitted') withdraw(call, metered);
    else if (allowance !== undefined) {
      metered.months.add(allowance.monthResetAtS);
      if (!this.isLimited) return;
      const windows = this.#windows.get(call.accountId) ?? new Map<number, number>();
      this.#windows.set(call.accountId, windows);
      const { windowResetAtS } = allowance;
      windows.set(windowResetAtS, (windows.get(windowResetAtS) ?? 0) + 1);
    }
  }

  #refused(call: MeteredCall, metered: Metered, fault: Fault): void {
    if (call.kind === 'settle') return;
    if (fault.isOutcomeUnknown) metered.isUnsure = true;
    else withdraw(call, metered);
  }
}

/** Whether the call costs cycles, not only a request. */
function isOfCycles(call: MeteredCall): boolean {
  return call.kind === 'settle' || call.cycles > 0;
}

function textOf(call: MeteredCall): string {
  const cycles = call.kind === 'admit' ? call.cycles : call.cyclesUsed;
  return `${call.kind} ${cycles} of ${call.accountId} for call ${call.callId}`;
}

/** Removes an admission that reserved nothing. */
function withdraw({ cycles }: AdmitCall, metered: Metered): void {
  if (cycles > 0) metered.admissions -= 1;
}

/** Number of observations in a stored instance event. Source: `recordOfEvent`. */
function cyclesOf(event: unknown): number {
  const [, , , kind, , , observations] = event as readonly unknown[];
  return kind === 'observed' && Array.isArray(observations) ? observations.length : 0;
}
