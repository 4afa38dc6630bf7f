import type { SentObservation } from '#bench/references/identity';
import type { EngineAnswer } from '#grpc/engine-messages';

/** Write strategy of a PostgreSQL reference. */
export interface ObservationStore {
  /**
   * Resolves when the cycle is on disk. `unknown`: no such instance. `early`: throttled by the
   * interval rule.
   */
  process(
    id: string,
    accountId: string,
    observation: SentObservation,
  ): Promise<EngineAnswer | 'unknown' | 'early'>;
}
