import type { EngineClient } from '#grpc/engine-messages';
import type { LimiterClient } from '#grpc/limiter-messages';
import type { SimulatedProcess } from '#test/simulation/simulated/process';

/** A listening process. */
export type SimulatedListener = {
  readonly process: SimulatedProcess;
  /** Handler of engine calls; undefined for a limiter. */
  readonly engine?: EngineClient;
  /** Handler of limiter calls; undefined for an engine. */
  readonly limiter?: LimiterClient;
  /** Current incarnation; undefined while the node has not joined. */
  readonly incarnation: () => string | undefined;
};
