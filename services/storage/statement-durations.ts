import type { Metrics } from '#platform/metrics';

/** Notified of every statement: its operation, its seconds, and why it failed if it did. */
export type ObserveDuration = (
  operation: string,
  seconds: number,
  errorType: string | undefined,
) => void;

/** Times every statement; labels are bound once each, because that costs more than the rest. */
export function statementDurations(
  metrics: Metrics,
  system: 'cassandra' | 'sqlite',
): ObserveDuration {
  const durations = metrics.histogram('db_client_operation_duration_seconds');
  const bound = new Map<string, { observe(seconds: number): void }>();
  return (operation, seconds, errorType = '') => {
    const key = `${operation} ${errorType}`;
    let child = bound.get(key);
    if (child === undefined) {
      child = durations.labels({
        db_system_name: system,
        db_operation_name: operation,
        error_type: errorType,
      });
      bound.set(key, child);
    }
    child.observe(seconds);
  };
}
