import { Fault } from '#errors/fault';
import type { LimiterAnswer } from '#grpc/limiter-messages';
import { custom, meterUnderTest } from '#test/limiter/limiter-fixture';
import type { Event } from '#test/limiter/meter/meter-histories';

/** Secrets of the account's keys. */
export const KEYS = ['key', 'key of a second', 'key of a third'] as const;

/** Deliberate faults in the simulation, which the checks must detect. */
export type MeterFlaw =
  | 'grants above its durable watermark'
  | 'refunds an unknown outcome'
  | 'forgets unrecorded grants after a crash'
  | undefined;

type Call = {
  readonly callId: number;
  readonly cycles: number;
  readonly uses: number;
  readonly key: number;
};

/** An admitted call with the durability dependency of its answer. */
type Held = Call & Grant & { readonly dependsOn: number };

/** Time of the decision in Unix milliseconds, and second at which the window ends. */
type Grant = { readonly decidedAtMs: number; readonly windowResetAtS: number };

/**
 * Simulation of an account: successive meters on a slow journal, and callers that use all grants.
 * Counts the executed cycles independently of the meters.
 */
export class MeterSimulation {
  readonly #flaw: MeterFlaw;
  #now;
  #lastCallId = 0;
  /** Admitted calls whose records are not durable yet, so that their answers wait. */
  #held: Held[] = [];
  /** Executed calls without a settlement. */
  #open: Call[] = [];
  /** Successful requests. */
  readonly #granted: Grant[] = [];
  /** Cycles executed by engines. */
  executed = 0;
  /** Executed cycles by key. */
  readonly executedBy = [0, 0, 0];

  constructor(requests: number, cycles: number, flaw?: MeterFlaw) {
    this.#flaw = flaw;
    this.#now = meterUnderTest(custom(requests, cycles), undefined, KEYS);
    this.#now.journal.durable = 0;
  }

  /** Usage reported by the meter. */
  get usage() {
    const usage = this.#now.meter.usage(this.#now.now());
    if (usage === undefined) throw new Error('the account is missing');
    return usage;
  }

  /**
   * Maximum number of successful requests from a window's first request to its end, rounded down to
   * a second. Includes requests that were counted in other windows: a crash may lose an open
   * window.
   */
  get granted(): number {
    const windows = Map.groupBy(this.#granted, ({ windowResetAtS }) => windowResetAtS);
    const counts = [...windows].map(([resetAtS, grants]) => {
      const firstMs = Math.min(...grants.map(({ decidedAtMs }) => decidedAtMs));
      const isOther = ({ windowResetAtS, decidedAtMs }: Grant) =>
        windowResetAtS !== resetAtS &&
        decidedAtMs >= firstMs &&
        decidedAtMs < (resetAtS - 1) * 1_000;
      return grants.length + this.#granted.filter(isOther).length;
    });
    return Math.max(0, ...counts);
  }

  /** Settles all open calls, so that no cycles remain reserved. */
  finish(): void {
    this.#makeDurable();
    while (this.#open.length > 0) this.take({ kind: 'settle', which: 0 });
  }

  take(event: Event): void {
    switch (event.kind) {
      case 'call':
        this.#call(event.cycles, Math.min(event.cycles, event.uses), event.key ?? 0);
        break;
      case 'read':
        this.#ask({ cycles: 0, uses: 0, key: 0 }, (callId) => this.#now.read(callId));
        break;
      case 'disk':
        this.#now.log.isHeldUp = !event.isWritable;
        break;
      case 'settle':
        this.#settle(event.which);
        break;
      case 'forget':
        this.#remove(event.which);
        break;
      case 'unknown':
        this.#unknown(event.which);
        break;
      case 'durable':
        this.#makeDurable();
        break;
      case 'crash':
        this.#crash(event.appended);
        break;
      case 'zombie':
        this.#zombie(event.calls);
        break;
      case 'handoff':
        this.#handoff();
        break;
      case 'wait':
        this.#now.clock.advance(event.ms);
    }
  }

  #call(cycles: number, uses: number, key: number): void {
    const ask = (callId: number) => this.#now.admit(callId, cycles, 0, KEYS[key]);
    this.#ask({ cycles, uses, key }, ask);
  }

  #ask(asked: Omit<Call, 'callId'>, ask: (callId: number) => LimiterAnswer): void {
    this.#lastCallId += 1;
    const callId = this.#lastCallId;
    let answer: LimiterAnswer;
    try {
      answer = ask(callId);
    } catch (refusal) {
      if (refusal instanceof Fault && !this.#isWritable) return;
      throw refusal;
    }
    if (answer.verdict !== 'admitted') return;
    const windowResetAtS = answer.allowance?.windowResetAtS ?? 0;
    const decidedAtMs = this.#now.now().wallMs;
    const dependsOn = this.#now.dependsOn();
    this.#held.push({ ...asked, callId, dependsOn, windowResetAtS, decidedAtMs });
    this.#answer();
  }

  get #isWritable(): boolean {
    return !this.#now.log.isHeldUp;
  }

  /** Sends answers whose records are durable. */
  #answer(): void {
    const { durable } = this.#now.journal;
    const isAnswerable = ({ dependsOn }: Held) =>
      dependsOn <= durable || this.#flaw === 'grants above its durable watermark';
    const answered = this.#held.filter(isAnswerable);
    this.#held = this.#held.filter((held) => !isAnswerable(held));
    for (const call of answered) {
      this.#granted.push(call);
      this.executed += call.uses;
      this.executedBy[call.key] = (this.executedBy[call.key] ?? 0) + call.uses;
      this.#open.push(call);
    }
  }

  #remove(index: number): Call | undefined {
    return this.#open.splice(index % Math.max(1, this.#open.length), 1)[0];
  }

  #settle(index: number): void {
    const call = this.#remove(index);
    if (call !== undefined) this.#now.settle(call.callId, call.uses);
  }

  /** Loses the outcome of a call. A correct meter keeps the reservation of the call. */
  #unknown(index: number): void {
    const call = this.#remove(index);
    if (call !== undefined && this.#flaw === 'refunds an unknown outcome') {
      this.#now.settle(call.callId, 0);
    }
  }

  #makeDurable(): void {
    if (!this.#isWritable) return;
    this.#now.journal.durable = this.#now.journal.heads.length;
    this.#answer();
  }

  /**
   * Crashes the node. The first `appended` appends in flight become durable, but their answers are
   * lost.
   */
  #crash(appended: number): void {
    const { journal } = this.#now;
    journal.durable = Math.min(journal.heads.length, journal.durable + appended);
    this.#held = [];
    const isUnknown = this.#flaw !== 'forgets unrecorded grants after a crash';
    this.#now = this.#now.next(undefined, isUnknown);
  }

  /** Lets a meter grant calls after a takeover. None of its appends becomes durable. */
  #zombie(count: number): void {
    const zombie = this.#now;
    this.#crash(0);
    const { journal } = this.#now;
    const records = [...journal.heads];
    zombie.log.isHeldUp = false;
    for (let call = 0; call < count; call += 1) zombie.admit(1_000_000 + call, 1);
    journal.heads.splice(0, journal.heads.length, ...records);
  }

  #handoff(): void {
    if (!this.#isWritable) return;
    this.#makeDurable();
    const { unrecorded, now } = this.#now;
    const isUnknown = unrecorded.areRecent(now().monotonicMs);
    this.#now.close();
    this.#makeDurable();
    this.#now = this.#now.next(undefined, isUnknown);
  }
}
