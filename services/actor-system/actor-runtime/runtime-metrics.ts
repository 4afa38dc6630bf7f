import type { Metrics } from '#telemetry/metrics';

/**
 * Metrics of one actor kind in one service. All labels are bound in advance, because an observation
 * without bound labels costs 8 µs.
 */
export function runtimeMetrics(metrics: Metrics, service: string, actor: string) {
  const activation = metrics.histogram('identity_activation_seconds').labels({ source: 'store' });
  const wait = metrics.histogram('identity_mailbox_wait_seconds').labels({});
  const dirtyAge = metrics.histogram('checkpoint_dirty_age_seconds').labels({ service });
  const failures = metrics.counter('checkpoint_failures_total').labels({ service });
  const actors = metrics.gauge('identity_actors_active').labels({ actor });
  const bytes = metrics.gauge('identity_actor_bytes').labels({ actor });
  const unflushed = metrics.gauge('journal_unflushed_records').labels({ service, actor });
  // Start all series at 0, so that they are visible from the first scrape on.
  failures.inc(0);
  for (const gauge of [actors, bytes, unflushed]) gauge.set(0);
  return {
    activated: (seconds: number) => activation.observe(seconds),
    mailboxWaited: (seconds: number) => wait.observe(seconds),
    checkpointed: (dirtySeconds: number) => dirtyAge.observe(dirtySeconds),
    checkpointFailed: () => failures.inc(),
    resident(totals: { actors: number; bytes: number; unflushedRecords: number }) {
      actors.set(totals.actors);
      bytes.set(totals.bytes);
      unflushed.set(totals.unflushedRecords);
    },
  };
}

/** Metrics of one actor kind, with bound labels. */
export type RuntimeMetrics = ReturnType<typeof runtimeMetrics>;
