import type { SealGround } from '#cluster/death-watch';
import type { MoveReason } from '#cluster/shard-keeper';
import type { Metrics } from '#platform/metrics';
import type { ShardedService } from '#storage/shard-store';

/** What a node of the cluster reports of itself. */
export type NodeMetrics = {
  appended(records: number, seconds: number): void;
  adopted(records: number): void;
  moved(reason: MoveReason): void;
  sealed(ground: SealGround): void;
  recovered(seconds: number): void;
  fenced(): void;
};

/** The metrics of a node, with every label bound in advance. */
export function nodeMetrics(metrics: Metrics, service: ShardedService): NodeMetrics {
  const appends = metrics.histogram('journal_append_seconds').labels({ service });
  const groups = metrics.histogram('journal_group_records').labels({ service });
  const adopted = metrics.counter('adopted_records_total').labels({ service });
  const fenced = metrics.counter('journal_fenced_total').labels({ service });
  const recoveries = metrics.histogram('recovery_seconds').labels({ service });
  const moves = metrics.counter('shard_moves_total');
  const seals = metrics.counter('shard_seals_total');
  return {
    appended(records, seconds) {
      appends.observe(seconds);
      groups.observe(records);
    },
    adopted: (records) => adopted.inc(records),
    moved: (reason) => moves.labels({ service, reason }).inc(),
    sealed: (ground) => seals.labels({ service, ground }).inc(),
    recovered: (seconds) => recoveries.observe(seconds),
    fenced: () => fenced.inc(),
  };
}
