import type { QueryResultRow } from 'pg';
import type { Cycle, StoredIdentity } from '#bench/references/identity';
import { ANSWER_HOURS, type Idempotency, type StoredAnswer } from '#bench/references/store';

/**
 * Tables of the PostgreSQL references. Free space per page allows updates in place (HOT). The BRIN
 * index finds expired answers and costs nothing per row.
 */
export const TABLES = `
  CREATE TABLE api_keys (digest text PRIMARY KEY, account_id text NOT NULL);
  CREATE TABLE instances (
    id text PRIMARY KEY, account_id text NOT NULL, version integer NOT NULL,
    observed_at_ms double precision, model bytea NOT NULL
  ) WITH (fillfactor = 50);
  CREATE TABLE history (
    instance_id text NOT NULL, version integer NOT NULL, mode smallint NOT NULL,
    signal double precision NOT NULL, confidence double precision NOT NULL,
    context text NOT NULL, observed_at_ms double precision NOT NULL,
    PRIMARY KEY (instance_id, version)
  );
  CREATE TABLE answers (
    instance_id text NOT NULL, key text NOT NULL, fingerprint text NOT NULL,
    body text NOT NULL, etag text NOT NULL, stored_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (instance_id, key)
  );
  CREATE INDEX ON answers USING brin (stored_at);`;

/** Reads an instance of an account. */
export const READ =
  'SELECT version, observed_at_ms, model FROM instances WHERE id = $1 AND account_id = $2';

const OLDEST = `now() - interval '${ANSWER_HOURS} hours'`;

/** Finds the answer to a key. */
export const FIND = {
  name: 'find',
  text: `SELECT fingerprint, body, etag FROM answers
    WHERE instance_id = $1 AND key = $2 AND stored_at > ${OLDEST}`,
};

/** Deletes expired answers. */
export const EXPIRE = `DELETE FROM answers WHERE stored_at <= ${OLDEST}`;

const MOVE = `UPDATE instances SET version = $2, observed_at_ms = $3, model = $4
  WHERE id = $1 AND version = $2 - 1`;

const RECORD = `INSERT INTO history
    (instance_id, version, observed_at_ms, mode, signal, confidence, context)
  SELECT id, $2, $3, $5, $6, $7, $8 FROM moved`;

const WRITE = { name: 'write', text: `WITH moved AS (${MOVE} RETURNING id) ${RECORD}` };

/** A key's expired answer still has a row, which the new answer replaces. */
const WRITE_KEYED = {
  name: 'write-keyed',
  text: `
    WITH moved AS (
      ${MOVE} AND NOT EXISTS (
        SELECT FROM answers WHERE instance_id = $1 AND key = $9 AND stored_at > ${OLDEST}
      ) RETURNING id
    ), kept AS (
      INSERT INTO answers (instance_id, key, fingerprint, body, etag)
      SELECT id, $9, $10, $11, $12 FROM moved
      ON CONFLICT (instance_id, key) DO UPDATE SET fingerprint = excluded.fingerprint,
        body = excluded.body, etag = excluded.etag, stored_at = excluded.stored_at
    ) ${RECORD}`,
};

/**
 * Statement that writes state, history row and, with a key, the answer. Inserts one history row; no
 * row if the instance has another version, or if the key already has an answer.
 */
export function writeOf(id: string, cycle: Cycle, idempotency: Idempotency | undefined) {
  const { next, mode, signal, confidence, contextJson, answer } = cycle;
  const { version, observedAtMs, model } = next;
  const state = [id, version, observedAtMs, bytesOf(model)];
  const values = [...state, mode, signal, confidence, contextJson];
  if (idempotency === undefined) return { ...WRITE, values };
  const { key, fingerprint } = idempotency;
  return { ...WRITE_KEYED, values: [...values, key, fingerprint, answer.body, answer.etag] };
}

/** A model as bytes for its column. */
export function bytesOf({ buffer, byteOffset, byteLength }: Float64Array): Buffer {
  return Buffer.from(buffer as ArrayBuffer, byteOffset, byteLength);
}

/** Decodes the bytes of a model. */
export function modelOf(bytes: Buffer): Float64Array {
  // Copy: doubles need 8-byte alignment, and the driver's buffer holds the whole answer.
  return new Float64Array(Uint8Array.from(bytes).buffer);
}

/** Decodes a row of `READ`; undefined without a row. */
export function identityOf(row: QueryResultRow | undefined): StoredIdentity | undefined {
  if (row === undefined) return undefined;
  const version: number = row['version'];
  const observedAtMs: number | null = row['observed_at_ms'];
  return { version, observedAtMs: observedAtMs ?? undefined, model: modelOf(row['model']) };
}

/** Decodes a row of `FIND`; undefined without a row. */
export function answerOf(row: QueryResultRow | undefined): StoredAnswer | undefined {
  if (row === undefined) return undefined;
  return { fingerprint: row['fingerprint'], body: row['body'], etag: row['etag'] };
}
