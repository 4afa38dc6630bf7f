import { fromJson, toJson } from '../json.ts';
import type { TimestampFrom } from './batch.ts';
import { type SpoolEntry, SpoolError } from './spool.ts';

/* Line format of a spool file, common to both client libraries (clients/README.md). */

/** Returns the line for an entry. */
export function entryLine({
  instanceId,
  observation,
  timestampFrom,
  addedAtMs,
}: SpoolEntry): string {
  const line = { v: 1, instance: instanceId, observation, timestamp_from: timestampFrom };
  return `${toJson({ ...line, added_at: addedAtMs })}\n`;
}

/** Returns the line that marks entries as done. */
export function doneLine(instanceId: string, keys: readonly string[]): string {
  return `${toJson({ v: 1, instance: instanceId, done: keys })}\n`;
}

/** Identity of an entry: instance and key. */
export function nameOf(instanceId: string, key: string): string {
  return `${instanceId} ${key}`;
}

/**
 * Reads the lines of a file. `left`: unfinished entries in file order. `whole`: total length of the
 * complete lines, in bytes. Throws a `SpoolError` with the number of an unreadable line, except for
 * a torn last line.
 */
export function readLines(bytes: Uint8Array): { left: Map<string, SpoolEntry>; whole: number } {
  const left = new Map<string, SpoolEntry>();
  let from = 0;
  for (let number = 1; ; number += 1) {
    const end = bytes.indexOf(NEWLINE, from);
    if (end < 0) return { left, whole: from };
    const line = parsed(bytes.subarray(from, end));
    if (line === undefined) {
      if (end + 1 === bytes.length) return { left, whole: from };
      throw new SpoolError(`line ${number} of the spool cannot be read`);
    }
    if ('done' in line) for (const key of line.done) left.delete(nameOf(line.instanceId, key));
    else left.set(nameOf(line.instanceId, line.observation.idempotency_key), line);
    from = end + 1;
  }
}

const NEWLINE = 10;

type Line = SpoolEntry | { readonly instanceId: string; readonly done: readonly string[] };

type Written = {
  readonly v: unknown;
  readonly instance: unknown;
  readonly observation?: SpoolEntry['observation'];
  readonly timestamp_from?: TimestampFrom;
  readonly added_at?: unknown;
  readonly done?: unknown;
};

/** Parses a line; undefined if unreadable. */
function parsed(bytes: Uint8Array): Line | undefined {
  let written: Written;
  try {
    written = fromJson(new TextDecoder('utf-8', { fatal: true }).decode(bytes)) as Written;
  } catch {
    return undefined;
  }
  if (typeof written !== 'object' || written === null || written.v !== 1) return undefined;
  const { instance: instanceId, observation, added_at: addedAtMs, done } = written;
  if (typeof instanceId !== 'string') return undefined;
  if (Array.isArray(done)) return { instanceId, done: done.map(String) };
  if (typeof observation?.idempotency_key !== 'string') return undefined;
  if (typeof observation.timestamp !== 'string' || typeof addedAtMs !== 'number') return undefined;
  const timestampFrom = written.timestamp_from === 'buffer' ? 'buffer' : 'caller';
  return { instanceId, observation, timestampFrom, addedAtMs };
}
