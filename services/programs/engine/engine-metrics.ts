import { StepTimer } from '#engine/instance/interval';
import type { Clock } from '#stdlib/clock';
import type { DriftRow } from '#storage/ports/instances';
import type { Metrics } from '#telemetry/metrics';

/** Metrics of the engine. All labels are bound in advance. */
export type EngineMetrics = {
  throttled(): void;
  /** Timer that samples the model's steps. */
  readonly steps: StepTimer;
  /**
   * Counts `cycles` applied observations, and the last `driftEvents` rows of `drift`, which they
   * caused.
   */
  cycled(cycles: number, drift: readonly DriftRow[], driftEvents: number): void;
};

/** Registers the engine's metrics on a registry of the process. */
export function engineMetrics(metrics: Metrics, clock: Clock): EngineMetrics {
  const advances = metrics.histogram('identity_advance_seconds').labels({});
  const throttled = metrics.counter('identity_throttled_total');
  const cycles = metrics.counter('identity_cycles_total');
  const kept = cycles.labels({ result: 'kept' });
  const rolledBack = cycles.labels({ result: 'rolled_back' });
  const events = metrics.counter('identity_drift_events_total');
  const level = new Map(['D1', 'D2', 'D3'].map((name) => [name, events.labels({ level: name })]));
  return {
    throttled: () => throttled.inc(),
    steps: new StepTimer(clock, (seconds) => advances.observe(seconds)),
    cycled(count, drift, driftEvents) {
      let breaches = 0;
      for (let back = 1; back <= driftEvents; back += 1) {
        const row = drift.at(-back);
        if (row?.isRolledBack === true) breaches += 1;
        level.get(row?.level ?? '')?.inc();
      }
      if (breaches > 0) rolledBack.inc(breaches);
      if (count > breaches) kept.inc(count - breaches);
    },
  };
}
