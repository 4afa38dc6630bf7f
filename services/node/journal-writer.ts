import { Fault, toFault } from '#fault/fault';
import {
  APPEND_RETRY_MS,
  TRUNCATION_AGE_MS,
  TRUNCATION_BYTES_MIN,
  TRUNCATION_SLOTS_MIN,
} from '#node/bounds';
import { type Clock, sleep } from '#platform/clock';
import { encodeGroup } from '#runtime/record-codec';
import type { Journal } from '#storage/journal';
import type { Append, JournalStore } from '#storage/journal-store';

/** What a journal's writer needs of its node. */
export type JournalWriterPorts = {
  readonly store: Pick<JournalStore, 'append' | 'isSealed'>;
  readonly clock: Clock;
  /** Notified of every append that the journal took: records and seconds. */
  readonly onAppended: (records: number, seconds: number) => void;
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
  readonly #incarnation: string;
  readonly #ports: JournalWriterPorts;
  #next = 0;
  #lowWaterMark = 0;
  #truncatedMs: number;
  /** Bytes of every slot from `#lowWaterMark` on. */
  #slotBytes: number[] = [];
  /** The end of the newest append's write, and its acknowledgement: later ones come after them. */
  #written: Promise<unknown> = Promise.resolve();
  #acknowledged: Promise<unknown> = Promise.resolve();
  readonly #listeners: ((why: Error) => void)[] = [];
  #fenced: Fenced | undefined;
  /** When the appends under way began, monotonic, oldest first. */
  readonly #beganMs: number[] = [];
  #slowestMs = 0;

  constructor(incarnation: string, ports: JournalWriterPorts) {
    this.#incarnation = incarnation;
    this.#ports = ports;
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
   * The longest that an append took since this was last asked, one under way included, in ms;
   * infinite when a try had no answer.
   */
  takeSlowestMs(): number {
    const [oldestMs = Number.POSITIVE_INFINITY] = this.#beganMs;
    const slowest = Math.max(this.#slowestMs, this.#ports.clock.monotonicMs() - oldestMs);
    this.#slowestMs = 0;
    return slowest;
  }

  async append(lines: readonly string[], lowWaterMark: number): Promise<void> {
    const { clock } = this.#ports;
    const startedMs = clock.monotonicMs();
    const append = this.#nextAppend(lines, lowWaterMark, startedMs);
    this.#beganMs.push(startedMs);
    const written = Promise.all([this.#written, this.#write(append)]);
    const acknowledged = this.#acknowledge(written, this.#acknowledged);
    this.#written = written;
    this.#acknowledged = acknowledged;
    await acknowledged;
    this.#beganMs.shift();
    const tookMs = clock.monotonicMs() - startedMs;
    this.#slowestMs = Math.max(this.#slowestMs, tookMs);
    this.#ports.onAppended(lines.length, tookMs / 1_000);
  }

  /** Looks once this slot and all before it are written; the answer keeps the order of the slots. */
  async #acknowledge(written: Promise<unknown>, before: Promise<unknown>): Promise<void> {
    await written;
    await Promise.all([this.#look(), before]);
  }

  /** Fulfils when a quorum has the slot; throws `Fenced` when this incarnation has ended. */
  async #write(append: Append): Promise<void> {
    for (;;) {
      if (this.#fenced !== undefined) throw this.#fenced;
      try {
        await this.#ports.store.append(append);
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
      return;
    }
    this.fence(`the journal refuses an append: ${fault.message}`);
    throw new Fault('service_unavailable', 'the journal refuses an append', { cause: error });
  }

  /** The next slot as it is written, however often. */
  #nextAppend(lines: readonly string[], lowWaterMark: number, nowMs: number): Append {
    const records = encodeGroup(lines);
    const slot = this.#next;
    // The newest slot stays: without one nothing would name the low-water mark.
    const target = Math.min(lowWaterMark, slot - 1);
    const isTruncating = this.#isTruncating(target, nowMs);
    if (isTruncating) {
      this.#slotBytes.splice(0, target - this.#lowWaterMark);
      this.#lowWaterMark = target;
      this.#truncatedMs = nowMs;
    }
    this.#next = slot + 1;
    this.#slotBytes.push(records.length);
    const incarnation = this.#incarnation;
    return { incarnation, slot, records, lowWaterMark: this.#lowWaterMark, isTruncating };
  }

  /** Whether the low-water mark moves with the next append: seldom, because every move is a delete. */
  #isTruncating(target: number, nowMs: number): boolean {
    if (target <= this.#lowWaterMark) return false;
    const isOld = nowMs - this.#truncatedMs >= TRUNCATION_AGE_MS;
    if (isOld || target - this.#lowWaterMark >= TRUNCATION_SLOTS_MIN) return true;
    const bytes = this.#slotBytes
      .slice(0, target - this.#lowWaterMark)
      .reduce((sum, size) => sum + size, 0);
    return bytes >= TRUNCATION_BYTES_MIN;
  }
}
