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
import type { Conditional, JournalHead, JournalStore } from '#storage/journal-store';

/** What a journal's writer needs of its node. */
export type JournalWriterPorts = {
  readonly store: JournalStore;
  readonly clock: Clock;
  /** Notified of every append that the journal took: records and seconds. */
  readonly onAppended: (records: number, seconds: number) => void;
};

/** Why an incarnation ended: its journal is sealed, or cannot be written. */
export class Fenced extends Error {
  override readonly name = 'Fenced';
}

/**
 * Appends to the journal of one incarnation, group after group, each under the condition that its
 * slot is next and the journal is not sealed (architecture 3.1). An append without an answer is looked
 * up and sent again until it is known; one that can never apply fences the incarnation.
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
  readonly #listeners: ((why: Error) => void)[] = [];
  #fenced: Fenced | undefined;
  /** When the append under way began, monotonic. */
  #beganMs: number | undefined;
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
    const underWayMs =
      this.#ports.clock.monotonicMs() - (this.#beganMs ?? Number.POSITIVE_INFINITY);
    const slowest = Math.max(this.#slowestMs, underWayMs);
    this.#slowestMs = 0;
    return slowest;
  }

  async append(lines: readonly string[], lowWaterMark: number): Promise<void> {
    const { clock } = this.#ports;
    const startedMs = clock.monotonicMs();
    this.#beganMs = startedMs;
    const records = encodeGroup(lines);
    const slot = this.#next;
    const truncateTo = this.#nextLowWaterMark(lowWaterMark, startedMs);
    await this.#until(slot, records, truncateTo);
    this.#beganMs = undefined;
    this.#next = slot + 1;
    this.#slotBytes.push(records.length);
    if (truncateTo !== undefined) {
      this.#slotBytes.splice(0, truncateTo - this.#lowWaterMark);
      this.#lowWaterMark = truncateTo;
      this.#truncatedMs = startedMs;
    }
    const tookMs = clock.monotonicMs() - startedMs;
    this.#slowestMs = Math.max(this.#slowestMs, tookMs);
    this.#ports.onAppended(lines.length, tookMs / 1_000);
  }

  /** Fulfils when the slot holds these bytes; throws `Fenced` when it never will. */
  async #until(slot: number, records: Uint8Array, lowWaterMark: number | undefined): Promise<void> {
    const incarnation = this.#incarnation;
    for (;;) {
      if (this.#fenced !== undefined) throw this.#fenced;
      const written = await this.#known(() =>
        this.#ports.store.append({ incarnation, slot, records, lowWaterMark }),
      );
      if (written?.isApplied) return;
      const head = written === undefined ? await this.#readHead() : written.head;
      // Only this incarnation moves `next`: if it has moved, an earlier try got through.
      if (head?.next === slot + 1) return;
      if (written !== undefined || head === undefined || head.isSealed || head.next !== slot) {
        throw this.#end(head, slot);
      }
      await sleep(this.#ports.clock, APPEND_RETRY_MS);
    }
  }

  /** The outcome of a write, undefined when the store does not say; throws what it refuses for good. */
  async #known(write: () => Promise<Conditional>): Promise<Conditional | undefined> {
    try {
      return await write();
    } catch (error) {
      const fault = toFault(error);
      if (fault.code === 'service_unavailable') {
        this.#slowestMs = Number.POSITIVE_INFINITY;
        return undefined;
      }
      this.fence(`the journal refuses an append: ${fault.message}`);
      throw new Fault('service_unavailable', 'the journal refuses an append', { cause: error });
    }
  }

  /** The journal's head, asked for until the store answers. */
  async #readHead(): Promise<JournalHead | undefined> {
    const { store, clock } = this.#ports;
    for (;;) {
      if (this.#fenced !== undefined) throw this.#fenced;
      try {
        return await store.readHead(this.#incarnation, 'serial');
      } catch {
        await sleep(clock, APPEND_RETRY_MS);
      }
    }
  }

  /** Fences the incarnation for what its journal's head shows. */
  #end(head: JournalHead | undefined, slot: number): Fenced {
    const found = head === undefined ? 'is gone' : head.isSealed ? 'is sealed' : 'has moved on';
    this.fence(`the journal ${found} (slot ${slot}, next ${head?.next ?? '?'})`);
    return this.#fenced ?? new Fenced(found);
  }

  /** Where the low-water mark moves with the next append: seldom, because every move is a delete. */
  #nextLowWaterMark(lowWaterMark: number, nowMs: number): number | undefined {
    // The newest slot is never deleted.
    const target = Math.min(lowWaterMark, this.#next - 1);
    if (target <= this.#lowWaterMark) return undefined;
    const isOld = nowMs - this.#truncatedMs >= TRUNCATION_AGE_MS;
    if (isOld || target - this.#lowWaterMark >= TRUNCATION_SLOTS_MIN) return target;
    const bytes = this.#slotBytes
      .slice(0, target - this.#lowWaterMark)
      .reduce((sum, size) => sum + size, 0);
    return bytes >= TRUNCATION_BYTES_MIN ? target : undefined;
  }
}
