import type { Metrics } from '#platform/metrics';
import type { ObserveRequest } from '#storage/sqlite/sqlite-file';
import { statementDurations } from '#storage/statement-durations';

/** Notified of requests that failed. */
export type FailureNotices = {
  /** A request found the disk full. */
  readonly onFull: () => void;
  /** SQLite failed with a result code of this name; the line is for operators. */
  readonly onFailure: (name: string, line: string) => void;
};

/** Times every request to a file, and passes failures on. */
export function requestObserver(metrics: Metrics, notices: FailureNotices): ObserveRequest {
  const observe = statementDurations(metrics, 'sqlite');
  return (operation, seconds, errorType, failure) => {
    observe(operation, seconds, errorType);
    if (errorType === 'full') notices.onFull();
    if (failure !== undefined) notices.onFailure(failure.name, failure.line);
  };
}
