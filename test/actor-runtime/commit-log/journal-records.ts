import { encodeGroup, encodeRecord } from '#actor-runtime/record-codec';
import type { JournalRecord } from '#storage/ports/journal';

/** Time at which a `ManualClock` starts. */
const AT_MS = Date.UTC(2026, 0, 15, 12);

/** Committed event of a tally: version 1 of `a` unless `fields` differ. */
export function recordOf(fields: Partial<JournalRecord> = {}): JournalRecord {
  const { version = 1 } = fields;
  return {
    actor: 'instance',
    actorId: 'a',
    version,
    callId: version,
    atMs: AT_MS,
    event: 1,
    ...fields,
  };
}

/** Records of one actor, by their versions. */
export function recordsOf(actorId: string, versions: readonly number[]): JournalRecord[] {
  return versions.map((version) => recordOf({ actorId, version }));
}

/** Journal line of a record with these fields. */
export function lineOf(fields: Partial<JournalRecord> = {}): string {
  return encodeRecord(recordOf(fields));
}

/** Journal lines of one actor's records, by version. */
export function linesOf(actorId: string, versions: readonly number[]): string[] {
  return recordsOf(actorId, versions).map(encodeRecord);
}

/** Stored group of these records. */
export function groupOf(records: readonly JournalRecord[]): Uint8Array {
  return encodeGroup(records.map(encodeRecord));
}
