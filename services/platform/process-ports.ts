import type { Clock } from '#platform/clock';

/** What every component needs of its process. */
export type ProcessPorts = {
  readonly clock: Clock;
  /** Called with what is no Fault: a bug, for the process's log. */
  readonly onBug: (error: unknown) => void;
};
