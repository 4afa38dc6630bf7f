import type { Pool } from 'pg';
import { observe, type SentObservation } from '#bench/references/identity';
import { identityOf, READ, valuesOf } from '#bench/references/rows';
import type { ObservationStore } from '#bench/references/store';

const LOCK = { name: 'lock', text: `${READ} FOR UPDATE` };
const MOVE = {
  name: 'move',
  text: 'UPDATE instances SET version = $2, observed_at_ms = $3, model = $4 WHERE id = $1',
};
const RECORD = {
  name: 'record',
  text: `INSERT INTO history (instance_id, version, observed_at_ms, mode, signal, confidence, context)
    VALUES ($1, $2, $3, $4, $5, $6, $7)`,
};

/**
 * Reference (pg): a transaction per observation. Locks and reads the row, runs the model, writes
 * state and history row, and commits to disk before the answer.
 */
export function transactionStore(pool: Pool): ObservationStore {
  return {
    async process(id: string, accountId: string, observation: SentObservation) {
      const client = await pool.connect();
      try {
        await client.query('BEGIN');
        const { rows } = await client.query({ ...LOCK, values: [id, accountId] });
        const stored = identityOf(rows[0]);
        const cycle = stored === undefined ? undefined : observe(id, stored, observation);
        if (cycle === undefined) {
          await client.query('ROLLBACK');
          return stored === undefined ? 'unknown' : 'early';
        }
        const values = valuesOf(id, cycle);
        const [, version, observedAtMs, , ...observed] = values;
        await client.query({ ...MOVE, values: values.slice(0, 4) });
        await client.query({ ...RECORD, values: [id, version, observedAtMs, ...observed] });
        await client.query('COMMIT');
        client.release();
        return cycle.answer;
      } catch (error) {
        // Close the connection, which rolls the transaction back.
        client.release(true);
        throw error;
      }
    },
  };
}
