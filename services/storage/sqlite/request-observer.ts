import type { Metrics } from '#platform/metrics';
import type { ObserveRequest } from '#storage/sqlite/sqlite-file';
import { statementDurations } from '#storage/statement-durations';

/** Times every request to a file, and calls `onFull` where one found the disk full. */
export function requestObserver(metrics: Metrics, onFull: () => void): ObserveRequest {
  const observe = statementDurations(metrics, 'sqlite');
  return (operation, seconds, errorType) => {
    observe(operation, seconds, errorType);
    if (errorType === 'full') onFull();
  };
}
