import assert from 'node:assert/strict';
import { Fault, faultFor, toFault } from '#fault/fault';
import {
  APPEND_RETRY_MS,
  TRUNCATION_AGE_MS,
  TRUNCATION_BYTES_MIN,
  TRUNCATION_SLOTS_MIN,
  UNWRITABLE_RETRY_S,
} from '#node/bounds';
import { type Clock, sleep } from '#platform/clock';
import type { Logger } from '#platform/logger';
import { encodeGroup } from '#runtime/record-codec';
import {
  type Append,
  type Journal,
  type JournalStore,
  SLOTS_UNDER_WAY_MAX,
} from '#storage/ports/journal';

/** What a journal's writer needs of its node. */
export type JournalWriterPorts = {
  readonly store: Pick<JournalStore, 'append' | 'isSealed'>;
  readonly clock: Clock;
  /** Notified of every append that the journal took: records, seconds, and its span if it has one. */
  readonly onAppended: (records: number, seconds: number, traceparent?: string) => void;
  readonly isOnlyWriter?: boolean | undefined;
  readonly refusal?: Journal['refusal'];
  /** A line for the operator. */
  readonly logger: Logger;
};

/** Why an incarnation ended: its journal is sealed, or cannot be written. */
export class Fenced extends Error {
  override readonly name = 'Fenced';
}

/**
 * Appends to the journal of one incarnation, group after group, a few side by side. A group is
 * acknowledged, in order, when it and all before it are written and a look at the seal that began
 * after that has found none (decision 191). A write without an answer is sent again as it was until it
 * has one; a seal, or a write that the store refuses for good, fences the incarnation.
 */
export class JournalWriter implements Journal {
  readonly isLasting = true;
  readonly isOnlyWriter: boolean;
  readonly #incarnation: string;
  readonly #ports: JournalWriterPorts;
  #next = 0;
  #lowWaterMark = 0;
  /** The mark that the newest acknowledged slot names: what is below may be deleted. */
  #acknowledgedMark = 0;
  #deletedBelow = 0;
  #truncatedMs: number;
  /** Bytes of every slot from `#deletedBelow` on. */
  #slotBytes: number[] = [];
  /** The end of the newest append's write, and its acknowledgement: later ones come after them. */
  #written: Promise<void> = Promise.resolve();
  #acknowledged: Promise<void> = Promise.resolve();
  readonly #listeners: ((why: Error) => void)[] = [];
  #fenced: Fenced | undefined;
  /** Why the newest try failed, if it did and only this writer could have succeeded. */
  #failed: Fault | undefined;
  /** When the appends under way began, monotonic, oldest first. */
  readonly #beganMs: number[] = [];
  #slowestMs = 0;

  constructor(incarnation: string, ports: JournalWriterPorts) {
    this.#incarnation = incarnation;
    this.#ports = ports;
    this.isOnlyWriter = ports.isOnlyWriter ?? false;
    this.#truncatedMs = ports.clock.monotonicMs();
  }

  /** Notifies `listener` once when this incarnation may never append again; at once if it has ended. */
  onFenced(listener: (why: Error) => void): void {
    if (this.#fenced === undefined) this.#listeners.push(listener);
    else listener(this.#fenced);
  }

  /** Ends this writer before another node does: no further append is sent. */
  fence(why: string): void {
    if (this.#fenced !== undefined) return;
    this.#fenced = new Fenced(why);
    for (const listener of this.#listeners) listener(this.#fenced);
  }

  /**
   * What the store says; else, of the only writer, that its newest try has failed: what it took in
   * until one succeeds could neither be acknowledged nor read. Where nodes share a store one try in
   * many fails, and the next does not.
   */
  refusal(): Fault | undefined {
    return this.#ports.refusal?.() ?? this.#failed;
  }

  /**
   * The longest that an append took since this was last asked, one under way included, in ms;
   * infinite when a try had no answer.
   */
  takeSlowestMs(): number {
    const [oldestMs = Number.POSITIVE_INFINITY] = this.#beganMs;
    const slowest = Math.max(this.#slowestMs, this.#ports.clock.monotonicMs() - oldestMs);
    this.#slowestMs = 0;
    return slowest;
  }

  async append(
    lines: readonly string[],
    lowWaterMark: number,
    traceparent?: string,
  ): Promise<void> {
    assert(
      this.#beganMs.length < SLOTS_UNDER_WAY_MAX,
      'more slots under way than a sealer looks for',
    );
    const { clock } = this.#ports;
    const startedMs = clock.monotonicMs();
    const append = this.#nextAppend(lines, lowWaterMark, startedMs);
    this.#beganMs.push(startedMs);
    this.#written = this.#writeAfter(this.#written, append);
    this.#acknowledged = this.#acknowledge(this.#written, this.#acknowledged);
    await this.#acknowledged;
    this.#acknowledgedMark = append.lowWaterMark;
    this.#beganMs.shift();
    const tookMs = clock.monotonicMs() - startedMs;
    this.#slowestMs = Math.max(this.#slowestMs, tookMs);
    this.#ports.onAppended(lines.length, tookMs / 1_000, traceparent);
  }

  /** Writes a slot at once; fulfils with nothing, so that no list of all appends comes about. */
  async #writeAfter(before: Promise<void>, append: Append): Promise<void> {
    await Promise.all([before, this.#write(append)]);
  }

  /** Looks once this slot and all before it are written; the answer keeps the order of the slots. */
  async #acknowledge(written: Promise<void>, before: Promise<void>): Promise<void> {
    await written;
    await Promise.all([this.#look(), before]);
  }

  /** Fulfils when a quorum has the slot; throws `Fenced` when this incarnation has ended. */
  async #write(append: Append): Promise<void> {
    for (;;) {
      if (this.#fenced !== undefined) throw this.#fenced;
      try {
        await this.#ports.store.append(append);
        this.#succeeded();
        return;
      } catch (error) {
        this.#refuse(error);
      }
      await sleep(this.#ports.clock, APPEND_RETRY_MS);
      // A sealed writer need not try for ever.
      await this.#look();
    }
  }

  /** Fulfils when there was no seal as this began; fences this incarnation when there is one. */
  async #look(): Promise<void> {
    const { clock, store } = this.#ports;
    for (;;) {
      if (this.#fenced !== undefined) throw this.#fenced;
      try {
        if (!(await store.isSealed(this.#incarnation))) return;
        this.fence('the journal is sealed');
      } catch (error) {
        this.#refuse(error);
        await sleep(clock, APPEND_RETRY_MS);
      }
    }
  }

  /** Returns where a later try may have an answer; else fences and throws. */
  #refuse(error: unknown): void {
    const fault = toFault(error);
    if (fault.code === 'service_unavailable') {
      this.#slowestMs = Number.POSITIVE_INFINITY;
      if (this.isOnlyWriter) this.#failedWith(fault);
      return;
    }
    this.fence(`the journal refuses a write or a look: ${fault.message}`);
    throw new Fault('service_unavailable', 'the journal cannot be written', { cause: error });
  }

  #failedWith(fault: Fault): void {
    if (this.#failed === undefined) {
      this.#ports.logger.error(
        { why: fault.message },
        'nothing is changed until the journal can be written',
      );
    }
    this.#failed = refusalAfter(fault);
  }

  #succeeded(): void {
    if (this.#failed === undefined) return;
    this.#failed = undefined;
    this.#ports.logger.info('the journal is written again');
  }

  /** The next slot as it is written, however often. */
  #nextAppend(lines: readonly string[], lowWaterMark: number, nowMs: number): Append {
    const slot = this.#next;
    // The newest slot stays: without one nothing would name the low-water mark.
    this.#lowWaterMark = Math.max(this.#lowWaterMark, Math.min(lowWaterMark, slot - 1));
    const records = encodeGroup(lines);
    const deleteBelow = this.#isTruncating(nowMs) ? this.#acknowledgedMark : undefined;
    if (deleteBelow !== undefined) {
      this.#slotBytes.splice(0, deleteBelow - this.#deletedBelow);
      this.#deletedBelow = deleteBelow;
      this.#truncatedMs = nowMs;
    }
    this.#next = slot + 1;
    this.#slotBytes.push(records.length);
    const incarnation = this.#incarnation;
    return { incarnation, slot, records, lowWaterMark: this.#lowWaterMark, deleteBelow };
  }

  /** Whether the next append deletes what is not needed: seldom, because each deletion is a tombstone. */
  #isTruncating(nowMs: number): boolean {
    const count = this.#acknowledgedMark - this.#deletedBelow;
    if (count <= 0) return false;
    const isOld = nowMs - this.#truncatedMs >= TRUNCATION_AGE_MS;
    if (isOld || count >= TRUNCATION_SLOTS_MIN) return true;
    const bytes = this.#slotBytes.slice(0, count).reduce((sum, size) => sum + size, 0);
    return bytes >= TRUNCATION_BYTES_MIN;
  }
}

/**
 * The refusal of what comes after an append that failed, of which nothing has happened. Its reason is one
 * that no router tries again: there is no other node.
 */
function refusalAfter({ message, cause }: Fault): Fault {
  return faultFor('overloaded', message, { retryAfterS: UNWRITABLE_RETRY_S, cause });
}
