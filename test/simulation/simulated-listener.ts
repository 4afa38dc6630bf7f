import type { EngineClient } from '#grpc/engine-messages';
import type { LimiterClient } from '#grpc/limiter-messages';
import type { SimulatedProcess } from '#test/simulation/simulated-process';

/** A process that takes calls. */
export type SimulatedListener = {
  readonly process: SimulatedProcess;
  /** What answers here; a process is of one service. */
  readonly engine?: EngineClient;
  readonly limiter?: LimiterClient;
  /** The incarnation that answers now; undefined while there is none, and then nothing is said. */
  readonly incarnation: () => string | undefined;
};
