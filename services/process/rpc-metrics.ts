import type { FaultCode } from '#fault/fault';
import type { MetricName, Metrics } from '#platform/metrics';
import type { CallObserver } from '#wire/frame-server';

type CallDurations = Extract<MetricName, `rpc_${string}`>;

/** Observes calls to one service, with the label values bound on first use. */
export function clientObserver(metrics: Metrics, service: string) {
  return durationsOf(metrics, 'rpc_client_call_duration_seconds', service);
}

/** Observes the calls that a service gets from other processes, and its frames if told where to. */
export function serverObserver(
  metrics: Metrics,
  service: string,
  received: (messages: number) => void = () => undefined,
): CallObserver {
  return { ended: durationsOf(metrics, 'rpc_server_call_duration_seconds', service), received };
}

function durationsOf(metrics: Metrics, name: CallDurations, service: string) {
  const histogram = metrics.histogram(name);
  const bound = new Map<string, { observe(seconds: number): void }>();
  return (seconds: number, outcome: 'ok' | FaultCode): void => {
    let child = bound.get(outcome);
    if (child === undefined) {
      child = histogram.labels({ rpc_service: service, outcome });
      bound.set(outcome, child);
    }
    child.observe(seconds);
  };
}
