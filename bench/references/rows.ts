import type { QueryResultRow } from 'pg';
import type { Cycle, StoredIdentity } from '#bench/references/identity';

/** Tables of the PostgreSQL references. Free space per page allows updates in place (HOT). */
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
  );`;

/** Reads an instance of an account. */
export const READ =
  'SELECT version, observed_at_ms, model FROM instances WHERE id = $1 AND account_id = $2';

/** Parameters $1 to $8 of both write statements. */
export function valuesOf(id: string, { next, mode, signal, confidence, contextJson }: Cycle) {
  const { version, observedAtMs, model } = next;
  return [id, version, observedAtMs, bytesOf(model), mode, signal, confidence, contextJson];
}

/** A model as bytes for its column. */
export function bytesOf({ buffer, byteOffset, byteLength }: Float64Array): Buffer {
  return Buffer.from(buffer as ArrayBuffer, byteOffset, byteLength);
}

/** Decodes a row of `READ`; undefined without a row. */
export function identityOf(row: QueryResultRow | undefined): StoredIdentity | undefined {
  if (row === undefined) return undefined;
  const version: number = row['version'];
  const observedAtMs: number | null = row['observed_at_ms'];
  const bytes: Buffer = row['model'];
  // Copy: doubles need 8-byte alignment, and the driver's buffer holds the whole answer.
  const model = new Float64Array(Uint8Array.from(bytes).buffer);
  return { version, observedAtMs: observedAtMs ?? undefined, model };
}
