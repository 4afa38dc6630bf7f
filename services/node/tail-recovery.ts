import type { ShardClaim } from '#cluster/shard-host';
import { toFault } from '#fault/fault';
import type { RecoveredRecords } from '#node/recovered-records';
import { readTail } from '#node/tail-reader';
import type { Clock } from '#platform/clock';
import type { Span, Tracer } from '#platform/tracer';
import type { CommitLog } from '#runtime/commit-log';
import type { JournalStore } from '#storage/journal-store';

/** What tail recovery works with. */
export type TailRecoveryParts = {
  readonly log: CommitLog;
  readonly journals: JournalStore;
  readonly recovered: RecoveredRecords;
  readonly clock: Clock;
  readonly tracer?: Tracer | undefined;
  readonly shardOf: (actorId: string) => number;
  /** Notified before n records of a failed incarnation are appended to this node's journal. */
  readonly onTailRecovered: (records: number, incarnation: string) => void;
  /** Notified when a failed incarnation's shard is served again, n seconds after its recovery began. */
  readonly onTakenOver: (seconds: number) => void;
};

/**
 * Copies the tail of a failed incarnation's journal into this one's, and holds its records until
 * their actors have replayed them (architecture 3.3).
 */
export class TailRecovery {
  readonly #parts: TailRecoveryParts;
  /** When the recovery of each shard that is being taken over began (monotonic). */
  readonly #beganMs = new Map<number, number>();

  constructor(parts: TailRecoveryParts) {
    this.#parts = parts;
    parts.log.keep(() => parts.recovered.lowest);
  }

  /** `ShardHost.recoverTail`; rejects also when this incarnation's own journal has ended. */
  async recover(incarnation: string, claims: readonly ShardClaim[]): Promise<void> {
    const attributes = { 'identity.incarnation': incarnation, 'identity.shards': claims.length };
    const start = { name: 'takeover', kind: 'internal', attributes } as const;
    const span = this.#parts.tracer?.rare(start);
    try {
      const records = await this.#recover(incarnation, claims, span);
      span?.end({ attributes: { 'identity.journal.records': records } });
    } catch (error) {
      span?.end({ error: toFault(error).code });
      throw error;
    }
  }

  /** Returns how many records there were. */
  async #recover(
    incarnation: string,
    claims: readonly ShardClaim[],
    span: Span | undefined,
  ): Promise<number> {
    const { journals, shardOf, log, clock, recovered, onTailRecovered } = this.#parts;
    const beganMs = clock.monotonicMs();
    for (const { shard } of claims) this.#beganMs.set(shard, beganMs);
    const wanted = new Set(claims.map(({ shard }) => shard));
    const tail = await readTail(journals, incarnation, (actorId) => wanted.has(shardOf(actorId)));
    log.assertAlive();
    // Held before they are durable, so that the low-water mark cannot pass them in between.
    const offset = log.added + 1;
    const byShard = Map.groupBy(tail, ({ actorId }) => shardOf(actorId));
    for (const { shard, epoch } of claims) {
      recovered.hold(shard, epoch, byShard.get(shard) ?? [], offset);
    }
    for (const { line } of tail) log.add(line, span?.traceparent);
    onTailRecovered(tail.length, incarnation);
    await log.whenDurable(log.added);
    return tail.length;
  }

  /** The claim is won: its records belong to the actors of the shard, which opens now. */
  opened({ shard, epoch }: ShardClaim): void {
    this.#parts.recovered.open(shard, epoch);
    const beganMs = this.#beganMs.get(shard);
    if (beganMs === undefined) return;
    this.#beganMs.delete(shard);
    this.#parts.onTakenOver((this.#parts.clock.monotonicMs() - beganMs) / 1_000);
  }
}
