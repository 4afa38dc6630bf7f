import { SEAL_REASONS, type SealReason } from '#cluster/failure-detector';
import { MOVE_REASONS, type MoveReason } from '#cluster/shard-controller';
import type { ShardedService } from '#storage/ports/cluster';
import type { Metrics } from '#telemetry/metrics';

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
    sealed: (reason: SealReason) => seals.labels({ service, reason }).inc(),
    takenOver: (seconds: number) => recoveries.observe(seconds),
    fenced: () => fenced.inc(),
    notOwner: () => refusals.inc(),
  };
}

/** Metrics of a cluster node. */
export type NodeMetrics = ReturnType<typeof nodeMetrics>;
