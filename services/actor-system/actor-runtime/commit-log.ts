/*
 * Commit log of an actor host: group commit to the journal, durability of each record, and the read
 * lease within which answers may come from memory.
 */
import {
  APPEND_STALL_MS_MAX,
  APPENDS_IN_FLIGHT_MAX,
  GROUP_BYTES_MAX,
  GROUP_LINGER_MS,
  GROUP_RECORDS_MAX,
  LEASE_MS,
  LOW_WATER_MARK_PERIOD_MS,
} from '#actor-runtime/actor-bounds';
import type { AppendSpans } from '#actor-runtime/record-codec';
import { Fault } from '#errors/fault';
import { type Clock, type Instant, instantOf } from '#stdlib/clock';
import type { Journal } from '#storage/ports/journal';
import type { Span } from '#telemetry/tracer';

type Waiter = {
  /** Fulfilled when this number of groups and this offset are durable. */
  readonly groups: number;
  readonly offset: number;
  readonly resolve: () => void;
  readonly reject: (e: unknown) => void;
};

/**
 * Group commit: records gather while the maximum number of appends is in flight, then go in one
 * append. The cost of an append is paid once per group (architecture 3.1). Records without a
 * waiting caller gather a little longer.
 *
 * Offsets count the records of this process from 1. `durable` is the offset of the last durable
 * record.
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
  /**
   * Last offset of every group from the low-water mark on. `#lowWaterMark` is the index of the
   * first of these groups.
   */
  #kept: number[] = [];
  #lowWaterMark = 0;
  #keepersReadAtMs = Number.NEGATIVE_INFINITY;
  /** Start times of the appends in flight (monotonic, in milliseconds), oldest first. */
  readonly #inFlightMs: number[] = [];
  #lease: Instant | undefined;
  /** Whether a caller waits for the open group. */
  #isGroupWanted = false;
  #isAppendDue = false;
  #isLingering = false;
  #failure: unknown;
  #waiters: Waiter[] = [];
  readonly #spans: AppendSpans | undefined;

  /** `spans`: undefined if tracing is off. */
  constructor(journal: Journal, clock: Clock, spans?: AppendSpans) {
    this.#journal = journal;
    this.#clock = clock;
    this.#spans = spans;
  }

  /** Whether commits outlive the process, so that other nodes can take over. */
  get isLasting(): boolean {
    return this.#journal.isLasting;
  }

  /** Offset of the last added record. */
  get added(): number {
    return this.#added;
  }

  /**
   * Registers a keeper of records. `lowest` returns the lowest offset that the keeper still needs;
   * infinite for none.
   */
  keep(lowest: () => number): void {
    this.#keepers.push(lowest);
  }

  /**
   * Throws `service_unavailable` while commits are impossible, and always after the journal has
   * ended.
   */
  assertOpen(): void {
    this.assertAlive();
    const refusal = this.#refusal();
    if (refusal !== undefined) throw refusal;
  }

  /** Whether this process is the only writer and refuses commits at present. */
  get isHeldUp(): boolean {
    const isAlone = this.#journal.isOnlyWriter && this.#failure === undefined;
    return isAlone && this.#refusal() !== undefined;
  }

  /** Throws `service_unavailable` after the journal has ended. */
  assertAlive(): void {
    if (this.#failure !== undefined) throw journalEnded(this.#failure, false);
  }

  /**
   * Adds a record's line to the open group and returns its offset. `traceparent`: span that commits
   * the record.
   */
  add(line: string, traceparent?: string): number {
    this.#open.push(line);
    this.#added += 1;
    const offset = this.#added;
    if (traceparent !== undefined) this.#spans?.committed(offset, traceparent);
    if (this.#journal.isLasting) this.#appendLater();
    else this.#append();
    return offset;
  }

  /** Whether all records up to `offset` are durable. */
  isDurable(offset: number): boolean {
    return offset <= this.#durable;
  }

  /**
   * Fulfils when `offset` is durable, and speeds up the append. Rejects with `service_unavailable`
   * of unknown outcome if the journal ended first: the append may have succeeded.
   */
  async whenDurable(offset: number): Promise<void> {
    if (this.isDurable(offset)) return;
    const waits = this.#until(0, offset);
    if (offset > this.#added - this.#open.length) this.#hurry();
    await waits;
  }

  /** Like `whenDurable`, but does not speed up the append. */
  async whenNoticed(offset: number): Promise<void> {
    if (!this.isDurable(offset)) await this.#until(0, offset);
  }

  /**
   * Whether an answer may come from memory alone (read lease, architecture 3.3). The last
   * successful append must have begun so recently that no other engine can have opened these shards
   * since. Limiters do not depend on the lease: watermarks limit their grants.
   */
  isLeased(): boolean {
    if (this.#journal.isOnlyWriter) return this.#failure === undefined;
    const lease = this.#lease;
    if (lease === undefined || this.#failure !== undefined) return false;
    const monotonicAgeMs = this.#clock.monotonicMs() - lease.monotonicMs;
    const wallAgeMs = Math.abs(this.#clock.wallMs() - lease.wallMs);
    return monotonicAgeMs < LEASE_MS && wallAgeMs < LEASE_MS;
  }

  /**
   * Fulfils when an append that begins after this call has succeeded. Rejects like `whenDurable`.
   */
  async whenConfirmed(): Promise<void> {
    this.assertAlive();
    if (!this.#journal.isOnlyWriter) await this.#nextGroup();
  }

  /**
   * Appends the current low-water mark, so that the next reader of the journal skips stored
   * records. Fulfils when the mark is durable. Rejects like `whenDurable`.
   */
  async mark(): Promise<void> {
    if (!this.#journal.isLasting) return;
    this.assertAlive();
    this.#keepersReadAtMs = Number.NEGATIVE_INFINITY;
    await this.#nextGroup();
  }

  /** Appends a heartbeat (an empty group) if no append began within `quietMs`. */
  beat(quietMs: number): void {
    if (this.#failure !== undefined || this.#inFlightMs.length > 0) return;
    const sinceMs = this.#clock.monotonicMs() - (this.#lease?.monotonicMs ?? 0);
    if (this.#lease === undefined || sinceMs >= quietMs) this.#append();
  }

  /**
   * Ends the log. Rejects the promises of all callers that wait for a record that is not durable,
   * with an unknown outcome.
   */
  end(failure: unknown): void {
    if (this.#failure === undefined) this.#fail(failure);
  }

  #refusal(): Fault | undefined {
    const refusal = this.#journal.refusal?.();
    if (refusal !== undefined) return refusal;
    const [oldestMs] = this.#inFlightMs;
    if (oldestMs === undefined) return undefined;
    const isStalled = this.#clock.monotonicMs() - oldestMs > APPEND_STALL_MS_MAX;
    return isStalled ? journalStalled() : undefined;
  }

  /**
   * Fulfils when an append that begins after this call has succeeded. Starts the append
   * immediately.
   */
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

  /** Appends the open group after `GROUP_LINGER_MS`, unless a caller waits for it earlier. */
  #appendLater(): void {
    if (this.#isLingering) return;
    this.#isLingering = true;
    this.#clock.after(GROUP_LINGER_MS, () => {
      this.#isLingering = false;
      if (this.#open.length > 0) this.#hurry();
    });
  }

  /**
   * Starts an append after the running task has added all its records. The records of one frame
   * then share an append. Otherwise the first record would be appended alone and the others would
   * wait.
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
    // Records that did not fit into the group are still awaited; append again.
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

  /** Takes as many waiting records as one group may hold. */
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

  /**
   * Index of the first group that is still needed. Recomputed at most once per period, because
   * keepers may be slow.
   */
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

/**
 * Refusal after the journal's end. Records of an append in flight may be durable. Later calls had
 * no effect.
 */
function journalEnded(cause: unknown, isOutcomeUnknown: boolean): Fault {
  const options = { ...OF_ENGINE, isOutcomeUnknown, cause };
  return new Fault('service_unavailable', 'this node has stopped committing', options);
}

/** Refusal while an append is unanswered. */
function journalStalled(): Fault {
  return new Fault('service_unavailable', 'the journal does not answer', OF_ENGINE);
}

/** Sets of values by group number, each in insertion order. Empty groups take no memory. */
export class Groups<Value> {
  readonly #groups = new Map<number, Set<Value>>();

  /** Adds a value to a group. */
  add(group: number, value: Value): void {
    const values = this.#groups.get(group);
    if (values === undefined) this.#groups.set(group, new Set([value]));
    else values.add(value);
  }

  /** Removes a value from a group, if the group has it. */
  delete(group: number, value: Value): void {
    const values = this.#groups.get(group);
    values?.delete(value);
    if (values?.size === 0) this.#groups.delete(group);
  }

  /** Values of a group. The iteration is live: it sees later changes. */
  of(group: number): Iterable<Value> {
    return this.#groups.get(group) ?? [];
  }
}
