import type { HistogramSeries } from '#platform/histogram';
import { LogRateLimit } from '#platform/log-rate-limit';
import type { MetricName, Metrics } from '#platform/metrics';
import type { Foundation } from '#process/foundation';
import type { CallObserver } from '#wire/call-target';
import type { OnRefused } from '#wire/grpc-server';
import type { CallEnded } from '#wire/peer-options';

type CallDurations = Extract<MetricName, `rpc_${string}_duration_seconds`>;

/** Observes calls to one service, with the label values bound on first use. */
export function clientObserver(metrics: Metrics, service: string) {
  return durationsOf(metrics, 'rpc_client_call_duration_seconds', service);
}

/** Observes the calls that a service gets from other processes, and its frames if `received` is given. */
export function serverObserver(
  metrics: Metrics,
  service: string,
  received: (messages: number) => void = () => undefined,
): CallObserver {
  return { ended: durationsOf(metrics, 'rpc_server_call_duration_seconds', service), received };
}

/** Counts calls that a role may not make, and logs each kind of them once in 30 s. */
export function refusalObserver({
  metrics,
  logger,
  clock,
}: Pick<Foundation, 'metrics' | 'logger' | 'clock'>): OnRefused {
  const refusals = metrics.counter('rpc_server_refused_total');
  const lines = new Map<string, LogRateLimit>();
  return (path, roles) => {
    const role = roles.join('+') || 'none';
    refusals.labels({ rpc_method: path, role }).inc();
    const kind = `${path} ${role}`;
    const line = lines.get(kind) ?? new LogRateLimit(clock);
    lines.set(kind, line);
    line.run(() =>
      logger.warn(
        { method: path, callerRole: role },
        'a call that this role may not make was refused',
      ),
    );
  };
}

function durationsOf(metrics: Metrics, name: CallDurations, service: string): CallEnded {
  const histogram = metrics.histogram(name);
  const bound = new Map<string, HistogramSeries>();
  return (seconds, outcome, traceparent) => {
    let child = bound.get(outcome);
    if (child === undefined) {
      child = histogram.labels({ rpc_service: service, outcome });
      bound.set(outcome, child);
    }
    child.observe(seconds, traceparent);
  };
}
