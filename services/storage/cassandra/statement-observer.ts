import type { Metrics } from '#platform/metrics';
import type { ObserveStatement } from '#storage/cassandra/session';

/** Why a second server answered; each is counted from 0 on, so that its first rise is seen. */
const REASONS = ['slow', 'error'] as const satisfies readonly Parameters<ObserveStatement>[3][];

/** Times every statement; labels are bound once each, because that costs more than the rest. */
export function statementObserver(metrics: Metrics): ObserveStatement {
  const durations = metrics.histogram('db_client_operation_duration_seconds');
  const secondServers = metrics.counter('db_client_second_server_total');
  const bound = new Map<string, { observe(seconds: number): void }>();
  return (operation, seconds, errorType, secondServer) => {
    const key = `${operation} ${errorType}`;
    const labels = {
      db_system_name: 'cassandra',
      db_operation_name: operation,
      error_type: errorType ?? '',
    };
    let child = bound.get(key);
    if (child === undefined) {
      child = durations.labels(labels);
      bound.set(key, child);
      for (const reason of REASONS) secondServers.inc({ db_operation_name: operation, reason }, 0);
    }
    child.observe(seconds);
    if (secondServer === undefined) return;
    secondServers.labels({ db_operation_name: operation, reason: secondServer }).inc();
  };
}
