import fc from 'fast-check';
import { custom, meterUnderTest } from '#test/limiter/limiter-fixture';

/** What may happen to a meter, its journal, its callers and its node. */
export type Event =
  | {
      readonly kind: 'call';
      readonly cycles: number;
      readonly uses: number;
      /** Which of `KEYS`; absent: the first. */
      readonly key?: number;
    }
  | { readonly kind: 'settle'; readonly which: number }
  | { readonly kind: 'forget'; readonly which: number }
  | { readonly kind: 'unknown'; readonly which: number }
  | { readonly kind: 'durable' }
  | { readonly kind: 'crash'; readonly appended: number }
  | { readonly kind: 'zombie'; readonly calls: number }
  | { readonly kind: 'handoff' }
  | { readonly kind: 'wait'; readonly ms: number };

/** Secrets of the account's keys. */
export const KEYS = ['key', 'key of a second', 'key of a third'] as const;

/** How the world around the meter may be wrong on purpose. */
export type MeterFlaw =
  | 'grants above its durable watermark'
  | 'refunds an unknown outcome'
  | undefined;

type Call = {
  readonly callId: number;
  readonly cycles: number;
  readonly uses: number;
  readonly key: number;
};

/** A call that was admitted, and what its answer depends on. */
type Held = Call & { readonly dependsOn: number; readonly windowResetAtS: number };

const which = fc.nat(20);
const calls: fc.Arbitrary<Event> = fc.record({
  kind: fc.constant('call'),
  cycles: fc.nat(8),
  uses: fc.nat(8),
  key: fc.nat(2),
} as const);
const settlements: fc.Arbitrary<Event> = fc.record({ kind: fc.constant('settle'), which } as const);
const durables: fc.Arbitrary<Event> = fc.constant({ kind: 'durable' } as const);
const waits: fc.Arbitrary<Event> = fc.record({
  kind: fc.constant('wait'),
  ms: fc.oneof({ weight: 6, arbitrary: fc.nat(300) }, fc.nat(70_000)),
} as const);
const handoffs: fc.Arbitrary<Event> = fc.constant({ kind: 'handoff' } as const);

/** Histories in which everything goes well, if slowly. */
export const quietHistories = fc.array(
  fc.oneof(
    { weight: 12, arbitrary: calls },
    { weight: 10, arbitrary: settlements },
    { weight: 6, arbitrary: durables },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('wait'), ms: fc.nat(300) } as const) },
    { weight: 1, arbitrary: handoffs },
  ),
  { maxLength: 200 },
);

/** Histories with crashes, zombies, lost settlements, appends and unknown outcomes. */
export const wildHistories: fc.Arbitrary<Event[]> = fc.array(
  fc.oneof(
    { weight: 16, arbitrary: calls },
    { weight: 10, arbitrary: settlements },
    { weight: 6, arbitrary: durables },
    { weight: 3, arbitrary: waits },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('forget'), which } as const) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('unknown'), which } as const) },
    { weight: 1, arbitrary: handoffs },
    {
      weight: 2,
      arbitrary: fc.record({ kind: fc.constant('crash'), appended: fc.nat(3) } as const),
    },
    {
      weight: 1,
      arbitrary: fc.record({ kind: fc.constant('zombie'), calls: fc.nat(30) } as const),
    },
  ),
  { maxLength: 250 },
);

/**
 * One account's meters, one after another, on one journal whose appends take their time, and callers
 * who do what they are admitted to. It keeps its own account of what was really executed.
 */
export class MeterWorld {
  readonly #flaw: MeterFlaw;
  #now;
  #lastCallId = 0;
  /** Admitted, and not answered yet because what it depends on is not durable. */
  #held: Held[] = [];
  /** Executed, and not settled. */
  #open: Call[] = [];
  /** Requests that went through, by the second at which their window ends. */
  readonly #granted = new Map<number, number>();
  /** Cycles that engines have really advanced. */
  executed = 0;
  /** Of them, those that were called for with each key. */
  readonly executedBy = [0, 0, 0];

  constructor(requests: number, cycles: number, flaw?: MeterFlaw) {
    this.#flaw = flaw;
    this.#now = meterUnderTest(custom(requests, cycles), undefined, KEYS);
    this.#now.journal.durable = 0;
  }

  /** What the meter says that the account has used. */
  get usage() {
    const usage = this.#now.meter.usage(this.#now.now());
    if (usage === undefined) throw new Error('the account is there');
    return usage;
  }

  /** The most requests that went through in one window. */
  get granted(): number {
    return Math.max(0, ...this.#granted.values());
  }

  /** Settles everything that is open, so that nothing is reserved any more. */
  finish(): void {
    this.#makeDurable();
    while (this.#open.length > 0) this.take({ kind: 'settle', which: 0 });
  }

  take(event: Event): void {
    switch (event.kind) {
      case 'call':
        this.#call(event.cycles, Math.min(event.cycles, event.uses), event.key ?? 0);
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
    this.#lastCallId += 1;
    const call = { callId: this.#lastCallId, cycles, uses, key };
    const { verdict, allowance } = this.#now.admit(call.callId, cycles, 0, KEYS[key]);
    if (verdict !== 'admitted') return;
    const windowResetAtS = allowance?.windowResetAtS ?? 0;
    this.#held.push({ ...call, dependsOn: this.#now.dependsOn(), windowResetAtS });
    this.#answer();
  }

  /** Answers leave when what they depend on is durable. */
  #answer(): void {
    const { durable } = this.#now.journal;
    const isAnswerable = ({ dependsOn }: Held) =>
      dependsOn <= durable || this.#flaw === 'grants above its durable watermark';
    const answered = this.#held.filter(isAnswerable);
    this.#held = this.#held.filter((held) => !isAnswerable(held));
    for (const call of answered) {
      this.#granted.set(call.windowResetAtS, (this.#granted.get(call.windowResetAtS) ?? 0) + 1);
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

  /** The caller never learns what came of it; a correct meter leaves the reservation alone. */
  #unknown(index: number): void {
    const call = this.#remove(index);
    if (call !== undefined && this.#flaw === 'refunds an unknown outcome') {
      this.#now.settle(call.callId, 0);
    }
  }

  #makeDurable(): void {
    this.#now.journal.durable = this.#now.journal.heads.length;
    this.#answer();
  }

  /** Of the appends under way some got through, without an answer. */
  #crash(appended: number): void {
    const { journal } = this.#now;
    journal.durable = Math.min(journal.heads.length, journal.durable + appended);
    this.#held = [];
    this.#now = this.#now.next();
  }

  /** A meter that has been taken over without knowing: nothing that it appends is ever durable. */
  #zombie(count: number): void {
    const zombie = this.#now;
    this.#crash(0);
    const { journal } = this.#now;
    const records = [...journal.heads];
    for (let call = 0; call < count; call += 1) zombie.admit(1_000_000 + call, 1);
    journal.heads.splice(0, journal.heads.length, ...records);
  }

  #handoff(): void {
    this.#makeDurable();
    this.#now.close();
    this.#makeDurable();
    this.#now = this.#now.next();
  }
}
