import type { SentObservation } from '#bench/reference-identity';
import type { EngineAnswer } from '#grpc/engine-messages';

/** How a PostgreSQL reference makes an observation durable. */
export interface ObservationStore {
  /** Fulfils when the cycle is on disk. `unknown`: no such instance; `early`: the interval rule. */
  process(
    id: string,
    accountId: string,
    observation: SentObservation,
  ): Promise<EngineAnswer | 'unknown' | 'early'>;
}
