import type { SentObservation } from '#bench/references/identity';
import type { EngineAnswer } from '#grpc/engine-messages';

/** Write strategy of a PostgreSQL reference. */
export interface ObservationStore {
  /**
   * Resolves when the cycle is on disk. `unknown`: the instance does not exist. `early`: the
   * interval rule throttles the observation.
   */
  process(
    id: string,
    accountId: string,
    observation: SentObservation,
  ): Promise<EngineAnswer | 'unknown' | 'early'>;
}
