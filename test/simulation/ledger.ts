import { type Fault, toFault } from '#errors/fault';
import type { AdmitCall, LimiterAnswer, LimiterClient, MeteredCall } from '#grpc/limiter-messages';
import type { JournalRecord } from '#storage/ports/journal';
import { Violation } from '#test/simulation/version-index';

/** What an account's callers were granted and what engines did for it, in one month or window. */
export type Grants = {
  /** Admitted requests, by the Unix second at which their window was to end. */
  readonly windows: Map<number, number>;
  /** Cycles that engines have committed, by the Unix second at which their month ends. */
  readonly committed: Map<number, number>;
  /** Committed cycles of calls that were tried in two months, and may be charged in either. */
  readonly committedInEither: number;
  /** Cycles of calls that no limiter was seen to settle: they may stay reserved, and expire. */
  readonly unsettled: number;
};

/** One call, over all its tries. */
type Metered = {
  readonly accountId: string;
  cycles: number;
  /** Admissions that may have happened, and settlements that have. */
  admissions: number;
  settlements: number;
  /** Whether an admission may come after its own settlement, because no caller waited for it. */
  isUnsure: boolean;
  /** The months of its grants. */
  readonly months: Set<number>;
};

/** What one version of an instance committed, and the slots of journals that hold a copy of it. */
type Committed = { readonly callId: number; readonly cycles: number; readonly places: Set<string> };

/**
 * What a world's callers, edges and engines know of cycles and requests, to be held against what its
 * meters say. Fails at once when cycles are committed for a call that was not admitted.
 */
export class Ledger {
  /** Whether the plans are those of the scenario; requests are counted as long as they are. */
  isLimited = true;
  readonly #fail: (violation: Violation) => void;
  readonly #calls = new Map<number, Metered>();
  readonly #windows = new Map<string, Map<number, number>>();
  /** Cycles of every version of every instance; copies of a record count once. */
  readonly #committed = new Map<string, Committed>();

  constructor(fail: (violation: Violation) => void) {
    this.#fail = fail;
  }

  /** The limiter, heard by this ledger; `note` takes lines for the trace. */
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

  /** These records of engines and limiters can be recovered from a slot of a journal. */
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

  /** These records will not be recovered from this slot: their journal has ended before it. */
  withdrawn(incarnation: string, slot: number, records: readonly JournalRecord[]): void {
    for (const { actorId, version, callId } of records) {
      const key = `${actorId} ${version}`;
      const committed = this.#committed.get(key);
      if (committed?.callId !== callId) continue;
      committed.places.delete(`${incarnation} ${slot}`);
      // Another node may have taken them over before.
      if (committed.places.size === 0) this.#committed.delete(key);
    }
  }

  /** Everything that is known of an account. */
  of(accountId: string): Grants {
    const committed = new Map<number, number>();
    let committedInEither = 0;
    const newest = this.#newestMonth(accountId);
    for (const { callId, cycles } of this.#committed.values()) {
      const call = this.#calls.get(callId);
      if (call?.accountId !== accountId) continue;
      const [month = 0, ...others] = call.months;
      // A try without an answer may have been admitted in the next month.
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

/** Whether more than a request is at stake. */
function isOfCycles(call: MeteredCall): boolean {
  return call.kind === 'settle' || call.cycles > 0;
}

function textOf(call: MeteredCall): string {
  const cycles = call.kind === 'admit' ? call.cycles : call.cyclesUsed;
  return `${call.kind} ${cycles} of ${call.accountId} for call ${call.callId}`;
}

/** An admission that has reserved nothing. */
function withdraw({ cycles }: AdmitCall, metered: Metered): void {
  if (cycles > 0) metered.admissions -= 1;
}

/** How many observations a stored event of an instance holds. Source: `recordOfEvent`. */
function cyclesOf(event: unknown): number {
  const [, , , kind, , , observations] = event as readonly unknown[];
  return kind === 'observed' && Array.isArray(observations) ? observations.length : 0;
}
