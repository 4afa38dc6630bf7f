import type { QueryResultRow } from 'pg';
import type { Cycle, StoredIdentity } from '#bench/reference-identity';

/** The tables of the PostgreSQL references. Room in a page keeps an update of a state in it (HOT). */
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

/** The parameters that both ways of writing a cycle take, in this order: $1 to $8. */
export function valuesOf(id: string, { next, mode, signal, confidence, contextJson }: Cycle) {
  const { version, observedAtMs, model } = next;
  return [id, version, observedAtMs, bytesOf(model), mode, signal, confidence, contextJson];
}

/** A model as its column holds it. */
export function bytesOf({ buffer, byteOffset, byteLength }: Float64Array): Buffer {
  return Buffer.from(buffer as ArrayBuffer, byteOffset, byteLength);
}

/** The instance of a row of `READ`; undefined when there is none. */
export function identityOf(row: QueryResultRow | undefined): StoredIdentity | undefined {
  if (row === undefined) return undefined;
  const version: number = row['version'];
  const observedAtMs: number | null = row['observed_at_ms'];
  const bytes: Buffer = row['model'];
  // A copy: doubles must stand at multiples of 8, and the driver's buffer holds the whole answer.
  const model = new Float64Array(Uint8Array.from(bytes).buffer);
  return { version, observedAtMs: observedAtMs ?? undefined, model };
}
