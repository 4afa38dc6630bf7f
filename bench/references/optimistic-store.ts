import { type Cycle, observe, type StoredIdentity } from '#bench/references/identity';
import {
  type Idempotency,
  type ObservationCall,
  type ObservationStore,
  type Refusal,
  replayOf,
  type StoredAnswer,
} from '#bench/references/store';
import type { EngineAnswer } from '#grpc/engine-messages';

/** Maximum attempts of an optimistic update; more conflicts in a row indicate a fault. */
const TRIES_MAX = 10;

/** Operations of a database with a compare-and-set. */
export interface CompareAndSet {
  /** Reads an instance of an account; undefined if the account has no such instance. */
  read(id: string, accountId: string): Promise<StoredIdentity | undefined>;
  /** Finds the answer to a key of the last 24 h. */
  find(id: string, key: string): Promise<StoredAnswer | undefined>;
  /**
   * Writes state, history row and, with a key, the answer in one transaction. Resolves to false
   * without a write if the instance has another version than the cycle's predecessor, or if the key
   * has an answer.
   */
  swap(id: string, cycle: Cycle, idempotency: Idempotency | undefined): Promise<boolean>;
}

/**
 * Store with an optimistic lock. The process caches state, so that an observation is one
 * `swap`. After a conflict, the store looks up the key's answer, reads the state and retries.
 */
export function optimisticStore(database: CompareAndSet): Pick<ObservationStore, 'process'> {
  const known = new Map<string, StoredIdentity>();
  const attempt = async (
    { id, observation, idempotency }: ObservationCall,
    stored: StoredIdentity,
    cacheKey: string,
  ): Promise<EngineAnswer | Refusal | 'conflict'> => {
    const cycle = observe(id, stored, observation);
    if (cycle !== undefined && (await database.swap(id, cycle, idempotency))) {
      known.set(cacheKey, cycle.next);
      return cycle.answer;
    }
    known.delete(cacheKey);
    // A repeated observation conflicts with its own answer, or the interval rule throttles it.
    const answered = idempotency && (await database.find(id, idempotency.key));
    if (idempotency !== undefined && answered !== undefined) return replayOf(answered, idempotency);
    return cycle === undefined ? 'early' : 'conflict';
  };
  return {
    async process(call: ObservationCall) {
      const { id, accountId } = call;
      const cacheKey = `${accountId} ${id}`;
      for (let tries = 0; tries < TRIES_MAX; tries += 1) {
        const stored = known.get(cacheKey) ?? (await database.read(id, accountId));
        if (stored === undefined) return 'unknown';
        const outcome = await attempt(call, stored, cacheKey);
        if (outcome !== 'conflict') return outcome;
      }
      throw new Error(`${id}: ${TRIES_MAX} version conflicts in a row`);
    },
  };
}
