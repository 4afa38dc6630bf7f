import type { Pool, PoolClient } from 'pg';
import { observe } from '#bench/references/identity';
import { answerOf, FIND, identityOf, READ, writeOf } from '#bench/references/rows';
import {
  type ObservationCall,
  type ObservationStore,
  type Refusal,
  replayOf,
} from '#bench/references/store';
import type { EngineAnswer } from '#grpc/engine-messages';

const LOCK = { name: 'lock', text: `${READ} FOR UPDATE` };

/**
 * Reference (pg): a transaction per observation. Locks and reads the row, runs the model, writes
 * state, history row and answer unless the key has an answer, and commits to disk before the
 * answer. The driver pipelines the statements: a transaction takes two round trips.
 */
export function transactionStore(pool: Pool): Pick<ObservationStore, 'process'> {
  return {
    async process(call: ObservationCall) {
      const client = await pool.connect();
      try {
        const answer = await answerIn(client, call);
        client.release();
        return answer;
      } catch (error) {
        // Close the connection, which rolls the transaction back.
        client.release(true);
        throw error;
      }
    },
  };
}

async function answerIn(
  client: PoolClient,
  { id, accountId, observation, idempotency }: ObservationCall,
): Promise<EngineAnswer | Refusal> {
  const [, locked] = await Promise.all([
    client.query('BEGIN'),
    client.query({ ...LOCK, values: [id, accountId] }),
  ]);
  const stored = identityOf(locked.rows[0]);
  const cycle = stored && observe(id, stored, observation);
  if (cycle === undefined) {
    await client.query('ROLLBACK');
  } else {
    const write = client.query(writeOf(id, cycle, idempotency));
    const [{ rowCount }] = await Promise.all([write, client.query('COMMIT')]);
    if (rowCount === 1) return cycle.answer;
  }
  // The row was locked, so only the key's answer or the interval rule prevents the write.
  if (stored === undefined) return 'unknown';
  if (idempotency === undefined) return 'early';
  const { rows } = await client.query({ ...FIND, values: [id, idempotency.key] });
  const answered = answerOf(rows[0]);
  return answered === undefined ? 'early' : replayOf(answered, idempotency);
}
