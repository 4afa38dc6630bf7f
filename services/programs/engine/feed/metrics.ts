import type { OutboxMetrics } from '#actor-runtime/outbox';
import type { Metrics } from '#telemetry/metrics';

/** Transitions that are not in the log of their account yet. */
export type Unrecorded = { readonly bytes: number; readonly ageMs: number };

/** Metrics of the calls that record transitions. */
export function recordMetrics(metrics: Metrics): OutboxMetrics {
  const recorded = metrics.histogram('transitions_recorded_seconds').labels({});
  const failures = metrics.counter('transitions_record_failures_total');
  failures.inc(0);
  return { sent: (seconds) => recorded.observe(seconds), failed: () => failures.inc() };
}

/** Shows the unrecorded transitions of an engine. `present` is called before every scrape. */
export function showUnrecorded(metrics: Metrics, present: () => Unrecorded | undefined): void {
  const seconds = metrics.gauge('transitions_unrecorded_seconds');
  const bytes = metrics.gauge('transitions_unrecorded_bytes');
  metrics.beforeScrape(() => {
    const { ageMs = 0, bytes: held = 0 } = present() ?? {};
    seconds.set(ageMs / 1_000);
    bytes.set(held);
  });
}
