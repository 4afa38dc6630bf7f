import type { Clock } from '#platform/clock';
import type { Tracer } from '#platform/tracer';

/** What every component needs of its process. */
export type ProcessPorts = {
  readonly clock: Clock;
  /** Called with what is no Fault: a bug, for the process's log, and the span in which it arose. */
  readonly onBug: (error: unknown, traceparent?: string) => void;
  /** Undefined where nothing is traced. */
  readonly tracer?: Tracer | undefined;
};
