import type { EngineClient } from '#grpc/engine-messages';
import type { LimiterClient } from '#grpc/limiter-messages';
import type { SimulatedProcess } from '#test/simulation/simulated/process';

/** A listening process. */
export type SimulatedListener = {
  readonly process: SimulatedProcess;
  /** Handler of calls; a process belongs to one service. */
  readonly engine?: EngineClient;
  readonly limiter?: LimiterClient;
  /** Current incarnation; undefined without one, when calls get no answer. */
  readonly incarnation: () => string | undefined;
};
