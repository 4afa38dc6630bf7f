import type { Dependency } from '#platform/dependency';
import type { Metrics } from '#platform/metrics';
import type { ObserveStatement } from '#storage/cassandra/session';
import { statementDurations } from '#storage/statement-durations';

/** Why a second server answered; each is counted from 0 on, so that its first rise is seen. */
const REASONS = ['slow', 'error'] as const satisfies readonly Parameters<ObserveStatement>[3][];

/**
 * Times every statement, counts those that a second server answered, and reports outages: a statement
 * that Cassandra refuses is answered.
 */
export function statementObserver(metrics: Metrics, dependency: Dependency): ObserveStatement {
  const observe = statementDurations(metrics, 'cassandra');
  const secondServers = metrics.counter('db_client_second_server_total');
  const shown = new Set<string>();
  return (operation, seconds, errorType, secondServer) => {
    observe(operation, seconds, errorType);
    if (errorType === undefined || errorType === 'refused') dependency.answered();
    else dependency.unanswered(errorType, seconds);
    if (!shown.has(operation)) {
      shown.add(operation);
      for (const reason of REASONS) secondServers.inc({ db_operation_name: operation, reason }, 0);
    }
    if (secondServer === undefined) return;
    secondServers.labels({ db_operation_name: operation, reason: secondServer }).inc();
  };
}
