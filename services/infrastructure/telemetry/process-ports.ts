import type { Clock } from '#stdlib/clock';
import type { Tracer } from '#telemetry/tracer';

/** Ports that every component needs from its process. */
export type ProcessPorts = {
  readonly clock: Clock;
  /**
   * Called with an error that is not a `Fault` and therefore a bug, and with the span in which the
   * error occurred.
   */
  readonly onBug: (error: unknown, traceparent?: string) => void;
  /** Tracer of the process. Undefined if tracing is off. */
  readonly tracer?: Tracer | undefined;
};
