import type { MeterEvents } from '#limiter/meter-events';
import type { Metrics } from '#platform/metrics';
import type { Verdict } from '#wire/limiter-messages';

/** What the limiter reports, with every label bound in advance. */
export type LimiterMetrics = {
  answered(verdict: Verdict): void;
  unavailable(): void;
  lost: MeterEvents['lost'];
  lostMuch: MeterEvents['lostMuch'];
  raised(watermark: 'month' | 'window', isDurable: boolean, seconds: number): void;
};

/** The limiter's metrics. A settlement is no check and is not counted. */
export function limiterMetrics(metrics: Metrics): LimiterMetrics {
  const checks = metrics.counter('limiter_checks_total');
  const expired = metrics.counter('limiter_reservations_expired_total');
  const histogram = metrics.histogram('limiter_watermark_raise_seconds');
  const bothOf = (watermark: 'month' | 'window') => ({
    ok: histogram.labels({ watermark, result: 'ok' }),
    failed: histogram.labels({ watermark, result: 'failed' }),
  });
  const raises = { month: bothOf('month'), window: bothOf('window') };
  const lost = metrics.counter('limiter_lost_cycles_total');
  // Shown from the first scrape on.
  for (const cause of ['expired', 'crash']) lost.labels({ cause }).inc(0);
  const heavyLosses = metrics.counter('limiter_heavy_losses_total');
  const allow = checks.labels({ decision: 'allow' });
  const rate = checks.labels({ decision: 'rate' });
  const quota = checks.labels({ decision: 'quota' });
  const key = checks.labels({ decision: 'key' });
  const unavailable = checks.labels({ decision: 'unavailable' });
  return {
    answered(verdict) {
      switch (verdict) {
        case 'admitted':
          return allow.inc();
        case 'rate_limited':
          return rate.inc();
        case 'quota_exceeded':
          return quota.inc();
        case 'unknown_key':
        case 'address_not_allowed':
        case 'read_only_key':
        case 'account_suspended':
          return key.inc();
        case 'settled':
        case 'answered':
          return undefined;
      }
    },
    unavailable: () => unavailable.inc(),
    raised: (watermark, isDurable, seconds) =>
      raises[watermark][isDurable ? 'ok' : 'failed'].observe(seconds),
    lostMuch: () => heavyLosses.inc(),
    lost(cause, cycles) {
      lost.labels({ cause }).inc(cycles);
      if (cause === 'expired') expired.inc();
    },
  };
}
