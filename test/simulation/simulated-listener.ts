import type { SimulatedProcess } from '#test/simulation/simulated-process';
import type { EngineClient } from '#wire/engine-messages';
import type { LimiterClient } from '#wire/limiter-messages';

/** A process that takes calls. */
export type SimulatedListener = {
  readonly process: SimulatedProcess;
  /** What answers here; a process is of one service. */
  readonly engine?: EngineClient;
  readonly limiter?: LimiterClient;
  /** The incarnation that answers now; undefined while there is none, and then nothing is said. */
  readonly incarnation: () => string | undefined;
};
