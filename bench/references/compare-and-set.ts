import type { Pool } from 'pg';
import { observe, type SentObservation, type StoredIdentity } from '#bench/references/identity';
import { identityOf, READ, valuesOf } from '#bench/references/rows';
import type { ObservationStore } from '#bench/references/store';

/** Maximum attempts of an optimistic update; more conflicts in a row indicate a fault. */
const TRIES_MAX = 10;

const SWAP = {
  name: 'swap',
  text: `
    WITH moved AS (
      UPDATE instances SET version = $2, observed_at_ms = $3, model = $4
      WHERE id = $1 AND version = $2 - 1 RETURNING id
    )
    INSERT INTO history (instance_id, version, observed_at_ms, mode, signal, confidence, context)
    SELECT id, $2, $3, $5, $6, $7, $8 FROM moved`,
};

/**
 * Reference (cas): an auto-committed compare-and-set statement per observation. The process caches
 * state. The update applies only if the row still has the cached version; otherwise, the store
 * reads the row again and retries.
 */
export function compareAndSetStore(pool: Pool): ObservationStore {
  const known = new Map<string, StoredIdentity>();
  const identityAt = async (id: string, accountId: string): Promise<StoredIdentity | undefined> => {
    const { rows } = await pool.query({ name: 'read', text: READ, values: [id, accountId] });
    return identityOf(rows[0]);
  };
  return {
    async process(id: string, accountId: string, observation: SentObservation) {
      const key = `${accountId} ${id}`;
      for (let tries = 0; tries < TRIES_MAX; tries += 1) {
        const stored = known.get(key) ?? (await identityAt(id, accountId));
        if (stored === undefined) return 'unknown';
        const cycle = observe(id, stored, observation);
        if (cycle === undefined) return 'early';
        const { rowCount } = await pool.query({ ...SWAP, values: valuesOf(id, cycle) });
        if (rowCount === 1) {
          known.set(key, cycle.next);
          return cycle.answer;
        }
        known.delete(key);
      }
      throw new Error(`${id}: ${TRIES_MAX} version conflicts in a row`);
    },
  };
}
