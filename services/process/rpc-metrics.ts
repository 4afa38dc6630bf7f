import type { FaultCode } from '#fault/fault';
import type { Metrics } from '#platform/metrics';

/** Observes calls to one service, with the label values bound on first use. */
export function clientObserver(metrics: Metrics, service: string) {
  const histogram = metrics.histogram('rpc_client_call_duration_seconds');
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
