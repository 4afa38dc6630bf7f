import { type Fault, toFault } from '#errors/fault';
import type { AdmitCall, LimiterAnswer, LimiterClient, MeteredCall } from '#grpc/limiter-messages';
import type { JournalRecord } from '#storage/ports/journal';
import { Violation } from '#test/simulation/stored/version-index';

/** Admitted requests and committed cycles of an account. */
export type Grants = {
  /** Admitted requests, by the end of their rate-limit window in Unix seconds. */
  readonly windows: Map<number, number>;
  /** Committed cycles, by the end of their month in Unix seconds. */
  readonly committed: Map<number, number>;
  /** Committed cycles of calls with attempts in two months. Either month may be charged. */
  readonly committedInEither: number;
  /** Cycles of calls without an observed settlement. Their reservations may expire. */
  readonly unsettled: number;
};

/** Admissions and settlements of one call, over all attempts. */
type Metered = {
  readonly accountId: string;
  cycles: number;
  /** Number of admissions that a limiter granted or may have granted. */
  admissions: number;
  /** Number of completed settlements. */
  settlements: number;
  /** Whether an admission has an unknown outcome and may take effect after the settlement. */
  isUnsure: boolean;
  /** Ends of the months in which a limiter admitted the call, in Unix seconds. */
  readonly months: Set<number>;
};

/** Cycles that one instance version commits, and the journal slots with a copy of the record. */
type Committed = { readonly callId: number; readonly cycles: number; readonly places: Set<string> };

/**
 * Counts admitted requests at edges and committed cycles at engines, independently of the meters.
 * Fails at once if an engine commits cycles for a call that no limiter admitted.
 */
export class Ledger {
  /** Whether the scenario's plans apply. If false, requests are not counted. */
  isLimited = true;
  readonly #fail: (violation: Violation) => void;
  readonly #calls = new Map<number, Metered>();
  readonly #windows = new Map<string, Map<number, number>>();
  /** Key: instance and version. Copies of a record have the same key and therefore count once. */
  readonly #committed = new Map<string, Committed>();

  constructor(fail: (violation: Violation) => void) {
    this.#fail = fail;
  }

  /** Wraps a limiter client to record its calls. `note` receives trace lines. */
  recording(limiter: LimiterClient, note: (text: string) => void): LimiterClient {
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

  /** Counts the cycles of records that have become recoverable from a journal slot. */
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
      const what = `version ${version} commits cycles of call ${callId}`;
      this.#fail(new Violation(`${actorId}: ${what}, which no limiter admitted`));
    }
  }

  /** Removes the cycles of records that can no longer be recovered from a journal slot. */
  withdrawn(incarnation: string, slot: number, records: readonly JournalRecord[]): void {
    for (const { actorId, version, callId } of records) {
      const key = `${actorId} ${version}`;
      const committed = this.#committed.get(key);
      if (committed?.callId !== callId) continue;
      committed.places.delete(`${incarnation} ${slot}`);
      // After a tail recovery, the journal of another node may hold a copy.
      if (committed.places.size === 0) this.#committed.delete(key);
    }
  }

  /** Admitted requests and committed cycles of an account. */
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

/** Whether the call reserves or settles cycles. Other calls cost a request only. */
function isOfCycles(call: MeteredCall): boolean {
  return call.kind === 'settle' || call.cycles > 0;
}

function textOf(call: MeteredCall): string {
  const cycles = call.kind === 'admit' ? call.cycles : call.cyclesUsed;
  return `${call.kind} ${cycles} of ${call.accountId} for call ${call.callId}`;
}

/** Subtracts a refused admission. */
function withdraw({ cycles }: AdmitCall, metered: Metered): void {
  if (cycles > 0) metered.admissions -= 1;
}

/** Cycles of a journal record (`recordOfEvent`): one per observation, 0 for other events. */
function cyclesOf(event: unknown): number {
  const [, , , kind, , , observations] = event as readonly unknown[];
  return kind === 'observed' && Array.isArray(observations) ? observations.length : 0;
}
