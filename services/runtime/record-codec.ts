import type { JournalRecord } from '#storage/journal';

/** The way groups are written; a reader refuses what it does not know. */
const FORMAT = 1;

/**
 * A group as the journal stores it: JSON, a list for each record, so that an operator can read it.
 * Numbers come back to the last bit.
 */
export function encodeGroup(records: readonly JournalRecord[]): Uint8Array {
  const rows = records.map(({ actor, actorId, version, callId, atMs, operation }) => [
    actor,
    actorId,
    version,
    callId,
    atMs,
    operation,
  ]);
  return Buffer.from(JSON.stringify([FORMAT, rows]));
}

/** The records of a stored group. Throws `CorruptJournal` when it is not one. */
export function decodeGroup(bytes: Uint8Array): JournalRecord[] {
  const group = parse(bytes);
  if (!Array.isArray(group) || group[0] !== FORMAT || !Array.isArray(group[1])) {
    throw new CorruptJournal('not a group of a known format');
  }
  return group[1].map(recordOf);
}

/** What the journal holds makes no sense: whoever finds it stops and shouts (architecture 3.1). */
export class CorruptJournal extends Error {
  override readonly name = 'CorruptJournal';
}

function parse(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (cause) {
    throw new CorruptJournal('not JSON in UTF-8', { cause });
  }
}

function recordOf(row: unknown): JournalRecord {
  if (!Array.isArray(row)) throw new CorruptJournal('not a record');
  const [actor, actorId, version, callId, atMs, operation] = row;
  const isRecord =
    typeof actor === 'string' &&
    typeof actorId === 'string' &&
    isCount(version) &&
    isCount(callId) &&
    typeof atMs === 'number' &&
    operation !== undefined;
  if (!isRecord) throw new CorruptJournal('a record lacks a field');
  return { actor, actorId, version, callId, atMs, operation };
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}
