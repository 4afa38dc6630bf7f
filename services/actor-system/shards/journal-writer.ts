/*
 * Writer of one incarnation's journal, with fencing: after another node has sealed the journal, the
 * writer acknowledges nothing more.
 */
import assert from 'node:assert/strict';
import { encodeGroup } from '#actor-runtime/record-codec';
import { SEAL_REASONS, type SealReason } from '#cluster/failure-detector';
import { MOVE_REASONS, type MoveReason } from '#cluster/shard-controller';
import { Fault, faultFor, toFault } from '#errors/fault';
import {
  APPEND_RETRY_MS,
  TRUNCATION_AGE_MS,
  TRUNCATION_BYTES_MIN,
  TRUNCATION_SLOTS_MIN,
  UNWRITABLE_RETRY_S,
} from '#shards/journal-bounds';
import { type Clock, sleep } from '#stdlib/clock';
import type { ShardedService } from '#storage/ports/cluster';
import {
  type Append,
  type Journal,
  type JournalStore,
  SLOTS_UNDER_WAY_MAX,
} from '#storage/ports/journal';
import type { Logger } from '#telemetry/logger';
import type { Metrics } from '#telemetry/metrics';

/** Dependencies of a journal writer. */
type JournalWriterPorts = {
  readonly store: Pick<JournalStore, 'append' | 'isSealed'>;
  readonly clock: Clock;
  /**
   * Called after every acknowledged append with its number of records, its duration in seconds, and
   * its span if it has one.
   */
  readonly onAppended: (records: number, seconds: number, traceparent?: string) => void;
  readonly isOnlyWriter?: boolean | undefined;
  readonly refusal?: Journal['refusal'];
  /**
   * Logs one line when the journal cannot be written, and another line when it can be written
   * again.
   */
  readonly logger: Logger;
};

/** Reason why an incarnation has ended: its journal is sealed or cannot be written. */
export class Fenced extends Error {
  override readonly name = 'Fenced';
}

/**
 * Appends groups to the journal of one incarnation, a few at a time (pipelined writes).
 *
 * Groups are acknowledged in order. A group is acknowledged when this group and all earlier groups
 * are written, and a seal check that began afterwards found no seal (decision 191). A write without
 * an answer is repeated unchanged until it has an answer. A seal, or a write that the store refuses
 * permanently, fences the incarnation.
 */
export class JournalWriter implements Journal {
  readonly isLasting = true;
  readonly isOnlyWriter: boolean;
  readonly #incarnation: string;
  readonly #ports: JournalWriterPorts;
  #next = 0;
  #lowWaterMark = 0;
  /** Low-water mark in the newest acknowledged slot. Slots below it may be deleted. */
  #acknowledgedMark = 0;
  #deletedBelow = 0;
  #truncatedMs: number;
  /** Size of every slot from `#deletedBelow` on, in bytes. */
  #slotBytes: number[] = [];
  /** Fulfils when the newest slot and all earlier slots are written. */
  #written: Promise<void> = Promise.resolve();
  /** Fulfils when the newest slot is acknowledged. */
  #acknowledged: Promise<void> = Promise.resolve();
  readonly #listeners: ((why: Error) => void)[] = [];
  #fenced: Fenced | undefined;
  /**
   * Fault of the newest attempt to write, if it failed. Set only if this is the only writer of its
   * store.
   */
  #failed: Fault | undefined;
  /** Start times of the appends in flight (monotonic, in milliseconds), oldest first. */
  readonly #beganMs: number[] = [];
  #slowestMs = 0;

  constructor(incarnation: string, ports: JournalWriterPorts) {
    this.#incarnation = incarnation;
    this.#ports = ports;
    this.isOnlyWriter = ports.isOnlyWriter ?? false;
    this.#truncatedMs = ports.clock.monotonicMs();
  }

  /**
   * Calls `listener` exactly once, when this incarnation may never append again. If the incarnation
   * has already ended, calls `listener` immediately.
   */
  onFenced(listener: (why: Error) => void): void {
    if (this.#fenced === undefined) this.#listeners.push(listener);
    else listener(this.#fenced);
  }

  /** Fences this writer from within its own process: no further append is sent. */
  fence(why: string): void {
    if (this.#fenced !== undefined) return;
    this.#fenced = new Fenced(why);
    for (const listener of this.#listeners) listener(this.#fenced);
  }

  /**
   * Reason to refuse commits, or undefined. The store's own refusal takes precedence.
   *
   * If this is the only writer, commits are also refused after the newest attempt to write has
   * failed. Such commits could be neither acknowledged nor read until an attempt succeeds. Nodes
   * that share a store do not refuse commits, because after a single failed attempt the next
   * attempt usually succeeds.
   */
  refusal(): Fault | undefined {
    return this.#ports.refusal?.() ?? this.#failed;
  }

  /**
   * Duration of the slowest append since the last call, in milliseconds. Appends in flight are
   * included with their duration so far. Infinite when an attempt got no answer.
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
      'a writer must not have more slots in flight than a seal check finds',
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

  /**
   * Starts to write a slot immediately. Fulfils when this slot and all earlier slots are written.
   * The value is undefined, so that the promises do not form a chain of all appends.
   */
  async #writeAfter(before: Promise<void>, append: Append): Promise<void> {
    await Promise.all([before, this.#write(append)]);
  }

  /**
   * Checks the seal after this slot and all earlier slots are written. Acknowledgements keep the
   * order of the slots.
   */
  async #acknowledge(written: Promise<void>, before: Promise<void>): Promise<void> {
    await written;
    await Promise.all([this.#look(), before]);
  }

  /** Writes until a quorum has the slot. Throws `Fenced` when this incarnation has ended. */
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
      // Stop retrying if the journal has been sealed.
      await this.#look();
    }
  }

  /**
   * Checks the seal. Fulfils when the journal was not sealed at the start; otherwise fences this
   * incarnation and throws `Fenced`.
   */
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

  /**
   * Returns if a retry may succeed. Otherwise fences the incarnation and throws
   * `service_unavailable`.
   */
  #refuse(error: unknown): void {
    const fault = toFault(error);
    if (fault.code === 'service_unavailable') {
      this.#slowestMs = Number.POSITIVE_INFINITY;
      if (this.isOnlyWriter) this.#failedWith(fault);
      return;
    }
    this.fence(`the store refused an append or a read of the journal: ${fault.message}`);
    throw new Fault('service_unavailable', 'the journal cannot be written', { cause: error });
  }

  #failedWith(fault: Fault): void {
    if (this.#failed === undefined) {
      this.#ports.logger.error(
        { why: fault.message },
        'the journal cannot be written: all changes are refused until an append succeeds',
      );
    }
    this.#failed = refusalAfter(fault);
  }

  #succeeded(): void {
    if (this.#failed === undefined) return;
    this.#failed = undefined;
    this.#ports.logger.info('the journal can be written again');
  }

  /** Builds the next slot. Retries write the same bytes. */
  #nextAppend(lines: readonly string[], lowWaterMark: number, nowMs: number): Append {
    const slot = this.#next;
    // The mark stays below the newest slot, because only the newest slot contains the low-water
    // mark.
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

  /**
   * Whether the next append deletes slots below the low-water mark. Deletions are rare, because
   * each deletion is a tombstone.
   */
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
 * Refusal of commits that follow a failed append. The refused call had no effect. Routers do not
 * retry the reason `overloaded`, because there is no other node to call.
 */
function refusalAfter({ message, cause }: Fault): Fault {
  return faultFor('overloaded', message, { retryAfterS: UNWRITABLE_RETRY_S, cause });
}

/** Metrics of a cluster node, with most labels bound in advance. */
export function nodeMetrics(metrics: Metrics, service: ShardedService) {
  const appends = metrics.histogram('journal_append_seconds').labels({ service });
  const groups = metrics.histogram('journal_group_records').labels({ service });
  const recovered = metrics.counter('recovered_records_total').labels({ service });
  const fenced = metrics.counter('journal_fenced_total').labels({ service });
  const recoveries = metrics.histogram('recovery_seconds').labels({ service });
  const moves = metrics.counter('shard_moves_total');
  const seals = metrics.counter('shard_seals_total');
  const refusals = metrics.counter('not_owner_total').labels({ service });
  // Start every counter at 0: Prometheus cannot see the first increment of a new series.
  for (const counted of [recovered, fenced, refusals]) counted.inc(0);
  for (const reason of MOVE_REASONS) moves.labels({ service, reason }).inc(0);
  for (const reason of SEAL_REASONS) seals.labels({ service, reason }).inc(0);
  return {
    appended(records: number, seconds: number, traceparent?: string): void {
      appends.observe(seconds, traceparent);
      groups.observe(records);
    },
    tailRecovered: (records: number) => recovered.inc(records),
    moved: (reason: MoveReason) => moves.labels({ service, reason }).inc(),
    sealed: (reason: SealReason, _incarnation: string) => seals.labels({ service, reason }).inc(),
    takenOver: (seconds: number) => recoveries.observe(seconds),
    fenced: () => fenced.inc(),
    notOwner: () => refusals.inc(),
  };
}

/** Metrics of a cluster node. */
export type NodeMetrics = ReturnType<typeof nodeMetrics>;
