import type { EngineClient } from '#grpc/engine-messages';
import type { LimiterClient } from '#grpc/limiter-messages';
import type { SimulatedProcess } from '#test/simulation/simulated/process';

/** A listening process. */
export type SimulatedListener = {
  readonly process: SimulatedProcess;
  /** Handler of calls. A process has only the handler of its service. */
  readonly engine?: EngineClient;
  readonly limiter?: LimiterClient;
  /** Current incarnation; undefined while the node has not joined. */
  readonly incarnation: () => string | undefined;
};
