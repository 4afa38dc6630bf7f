import { Fault } from '#fault/fault';
import { type Clock, type Instant, instantOf } from '#platform/clock';
import type { Span } from '#platform/tracer';
import {
  APPEND_STALL_MS_MAX,
  APPENDS_IN_FLIGHT_MAX,
  GROUP_BYTES_MAX,
  GROUP_LINGER_MS,
  GROUP_RECORDS_MAX,
  LEASE_MS,
  LOW_WATER_MARK_PERIOD_MS,
} from '#runtime/bounds';
import type { AppendSpans } from '#runtime/record-codec';
import type { Journal } from '#storage/ports/journal';

type Waiter = {
  /** Fulfilled when this many groups are durable and this offset is. */
  readonly groups: number;
  readonly offset: number;
  readonly resolve: () => void;
  readonly reject: (e: unknown) => void;
};

/**
 * Group commit: while as many appends are in flight as may be, further records gather, then they go
 * together, so that the journal's price is paid once per group (architecture 3.1). Records that no caller waits for
 * gather a little longer. Offsets count the records of this process from 1;
 * `durable` is the last that the journal holds.
 */
export class CommitLog {
  readonly #journal: Journal;
  readonly #clock: Clock;
  readonly #keepers: (() => number)[] = [];
  #open: string[] = [];
  #added = 0;
  #durable = 0;
  #groupsBegun = 0;
  #groupsDone = 0;
  /** Last offsets of the groups that are kept, and the index of the first of them. */
  #kept: number[] = [];
  #lowWaterMark = 0;
  #keepersReadAtMs = Number.NEGATIVE_INFINITY;
  /** When the appends in flight began (monotonic), oldest first. */
  readonly #inFlightMs: number[] = [];
  #lease: Instant | undefined;
  /** Whether a caller waits for the next group. */
  #isGroupWanted = false;
  #isAppendDue = false;
  #isLingering = false;
  #failure: unknown;
  #waiters: Waiter[] = [];
  readonly #spans: AppendSpans | undefined;

  /** `spans`: undefined where nothing is traced. */
  constructor(journal: Journal, clock: Clock, spans?: AppendSpans) {
    this.#journal = journal;
    this.#clock = clock;
    this.#spans = spans;
  }

  /** Whether what is committed here outlives the process, so that others may take it over. */
  get isLasting(): boolean {
    return this.#journal.isLasting;
  }

  /** Position of the last record that was added. */
  get added(): number {
    return this.#added;
  }

  /** `lowest` names the lowest offset that is still needed; infinite for none. */
  keep(lowest: () => number): void {
    this.#keepers.push(lowest);
  }

  /** Throws `service_unavailable` while nothing can be committed; for good once the journal has ended. */
  assertOpen(): void {
    this.assertAlive();
    const refusal = this.#refusal();
    if (refusal !== undefined) throw refusal;
  }

  /** Whether the only writer can commit nothing for now. */
  get isHeldUp(): boolean {
    const isAlone = this.#journal.isOnlyWriter && this.#failure === undefined;
    return isAlone && this.#refusal() !== undefined;
  }

  /** Throws `service_unavailable` once the journal has ended. */
  assertAlive(): void {
    if (this.#failure !== undefined) throw journalEnded(this.#failure, false);
  }

  /** Adds a record, as its line, to the open group and returns its offset; `traceparent`: for whom. */
  add(line: string, traceparent?: string): number {
    this.#open.push(line);
    this.#added += 1;
    const offset = this.#added;
    if (traceparent !== undefined) this.#spans?.committed(offset, traceparent);
    if (this.#journal.isLasting) this.#appendLater();
    else this.#append();
    return offset;
  }

  /** Whether everything up to `offset` is durable. */
  isDurable(offset: number): boolean {
    return offset <= this.#durable;
  }

  /**
   * Fulfils when `offset` is durable. Rejects with `service_unavailable` of unknown outcome if the
   * journal ended before: the append may have got through all the same.
   */
  async whenDurable(offset: number): Promise<void> {
    if (this.isDurable(offset)) return;
    const waits = this.#until(0, offset);
    if (offset > this.#added - this.#open.length) this.#hurry();
    await waits;
  }

  /** The same without haste: the record goes no sooner for it. */
  async whenNoticed(offset: number): Promise<void> {
    if (!this.isDurable(offset)) await this.#until(0, offset);
  }

  /**
   * Whether an answer may come from memory alone: the last append that succeeded began so recently
   * that no other node can have opened our shards since (read lease, architecture 3.3).
   */
  isLeased(): boolean {
    if (this.#journal.isOnlyWriter) return this.#failure === undefined;
    const lease = this.#lease;
    if (lease === undefined || this.#failure !== undefined) return false;
    const monotonicAgeMs = this.#clock.monotonicMs() - lease.monotonicMs;
    const wallAgeMs = Math.abs(this.#clock.wallMs() - lease.wallMs);
    return monotonicAgeMs < LEASE_MS && wallAgeMs < LEASE_MS;
  }

  /** Fulfils when an append that begins from now on has succeeded. Rejects like `whenDurable`. */
  async whenConfirmed(): Promise<void> {
    this.assertAlive();
    if (!this.#journal.isOnlyWriter) await this.#nextGroup();
  }

  /**
   * Appends the low-water mark as it is now, so that the next reader of the journal reads no more than is
   * needed. Fulfils when it is durable. Rejects like `whenDurable`.
   */
  async mark(): Promise<void> {
    if (!this.#journal.isLasting) return;
    this.assertAlive();
    this.#keepersReadAtMs = Number.NEGATIVE_INFINITY;
    await this.#nextGroup();
  }

  /** Shows that this writer lives, if nothing else has within `quietMs`: the heartbeat that counts. */
  beat(quietMs: number): void {
    if (this.#failure !== undefined || this.#inFlightMs.length > 0) return;
    const sinceMs = this.#clock.monotonicMs() - (this.#lease?.monotonicMs ?? 0);
    if (this.#lease === undefined || sinceMs >= quietMs) this.#append();
  }

  /** Ends the log from outside: whatever is not durable never will be, as far as this process knows. */
  end(failure: unknown): void {
    if (this.#failure === undefined) this.#fail(failure);
  }

  #refusal(): Fault | undefined {
    const refusal = this.#journal.refusal?.();
    if (refusal !== undefined) return refusal;
    const [oldestMs = Number.POSITIVE_INFINITY] = this.#inFlightMs;
    const isStalled = this.#clock.monotonicMs() - oldestMs > APPEND_STALL_MS_MAX;
    return isStalled ? journalStalled() : undefined;
  }

  /** Fulfils when an append that begins from now on has succeeded, which goes at once. */
  async #nextGroup(): Promise<void> {
    const waits = this.#until(this.#groupsBegun + 1, 0);
    this.#hurry();
    await waits;
  }

  async #until(groups: number, offset: number): Promise<void> {
    if (this.#failure !== undefined) throw journalEnded(this.#failure, true);
    await new Promise<void>((resolve, reject) =>
      this.#waiters.push({ groups, offset, resolve, reject }),
    );
  }

  /** The open group goes after a while, should no caller wait for it before. */
  #appendLater(): void {
    if (this.#isLingering) return;
    this.#isLingering = true;
    this.#clock.after(GROUP_LINGER_MS, () => {
      this.#isLingering = false;
      if (this.#open.length > 0) this.#hurry();
    });
  }

  /**
   * Begins an append once the running task has added all its records: the records of one frame
   * go together, where the first would else go alone and the others wait for it.
   */
  #hurry(): void {
    this.#isGroupWanted = true;
    if (this.#isAppendDue || !this.#hasRoom) return;
    this.#isAppendDue = true;
    queueMicrotask(() => {
      this.#isAppendDue = false;
      if (this.#isGroupWanted && this.#hasRoom && this.#failure === undefined) this.#append();
    });
  }

  get #hasRoom(): boolean {
    return this.#inFlightMs.length < APPENDS_IN_FLIGHT_MAX;
  }

  #append(): void {
    const group = this.#takeGroup();
    // What found no room is waited for as much as what did.
    this.#isGroupWanted = this.#open.length > 0;
    const began = instantOf(this.#clock);
    this.#groupsBegun += 1;
    const span = this.#spans?.begin(group.length, this.#added - this.#open.length);
    const needed = this.#firstNeededGroup(began.monotonicMs);
    const appended = this.#journal.append(group, needed, span?.traceparent);
    if (appended === undefined) {
      this.#durable += group.length;
      this.#groupsDone += 1;
      span?.end();
      return;
    }
    this.#inFlightMs.push(began.monotonicMs);
    appended.then(
      () => this.#appended(group.length, began, span),
      (failure: unknown) => {
        span?.end({ error: 'journal_ended' });
        this.#fail(failure);
      },
    );
  }

  /** As many of the waiting records as one group may hold. */
  #takeGroup(): string[] {
    const group: string[] = [];
    let bytes = 0;
    for (const line of this.#open) {
      bytes += Buffer.byteLength(line);
      if (group.length > 0 && bytes > GROUP_BYTES_MAX) break;
      group.push(line);
      if (group.length >= GROUP_RECORDS_MAX) break;
    }
    this.#open = group.length === this.#open.length ? [] : this.#open.slice(group.length);
    return group;
  }

  #appended(recordCount: number, began: Instant, span: Span | undefined): void {
    span?.end();
    if (this.#failure !== undefined) return;
    this.#inFlightMs.shift();
    this.#lease = began;
    this.#durable += recordCount;
    this.#groupsDone += 1;
    this.#kept.push(this.#durable);
    const waiting = this.#waiters;
    const isDone = ({ groups, offset }: Waiter) =>
      offset <= this.#durable && groups <= this.#groupsDone;
    this.#waiters = waiting.filter((waiter) => !isDone(waiter));
    if (this.#isGroupWanted) this.#append();
    for (const waiter of waiting) if (isDone(waiter)) waiter.resolve();
  }

  /** The index of the first group that is needed, looked up now and then: keepers may be slow. */
  #firstNeededGroup(nowMs: number): number {
    if (!this.#journal.isLasting || nowMs - this.#keepersReadAtMs < LOW_WATER_MARK_PERIOD_MS)
      return this.#lowWaterMark;
    this.#keepersReadAtMs = nowMs;
    const lowest = Math.min(...this.#keepers.map((keeper) => keeper()));
    const needed = this.#kept.findIndex((last) => last >= lowest);
    const dropped = needed === -1 ? this.#kept.length : needed;
    this.#kept.splice(0, dropped);
    this.#lowWaterMark += dropped;
    return this.#lowWaterMark;
  }

  #fail(failure: unknown): void {
    this.#failure ??= failure ?? new Error('the journal has ended');
    this.#open = [];
    this.#spans?.clear();
    for (const waiter of this.#waiters.splice(0)) waiter.reject(journalEnded(this.#failure, true));
  }
}

const OF_ENGINE = { reason: 'engine_unavailable', retryAfterS: 1 } as const;

/** The refusal after the journal's end. What was in an append may be durable; what comes later is not. */
function journalEnded(cause: unknown, isOutcomeUnknown: boolean): Fault {
  const options = { ...OF_ENGINE, isOutcomeUnknown, cause };
  return new Fault('service_unavailable', 'this node has stopped committing', options);
}

/** The refusal while an append has no answer. */
function journalStalled(): Fault {
  return new Fault('service_unavailable', 'the journal does not answer', OF_ENGINE);
}

/** Values by the number of their group, in each in the order in which they came; empty groups take no room. */
export class Groups<Value> {
  readonly #groups = new Map<number, Set<Value>>();

  /** Adds a value to a group. */
  add(group: number, value: Value): void {
    const values = this.#groups.get(group);
    if (values === undefined) this.#groups.set(group, new Set([value]));
    else values.add(value);
  }

  /** Takes a value out of a group, if it is there. */
  delete(group: number, value: Value): void {
    const values = this.#groups.get(group);
    values?.delete(value);
    if (values?.size === 0) this.#groups.delete(group);
  }

  /** The values of a group, as they are at each step of the iteration. */
  of(group: number): Iterable<Value> {
    return this.#groups.get(group) ?? [];
  }
}
