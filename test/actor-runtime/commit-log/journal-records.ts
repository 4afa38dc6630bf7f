import { encodeGroup, encodeRecord } from '#actor-runtime/record-codec';
import type { JournalRecord } from '#storage/ports/journal';

/** Time at which a `ManualClock` starts. */
const AT_MS = Date.UTC(2026, 0, 15, 12);

/** A committed event of a tally: version 1 of `a`, unless `fields` differ. */
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

/** The journal line of such a record. */
export function lineOf(fields: Partial<JournalRecord> = {}): string {
  return encodeRecord(recordOf(fields));
}

/** The journal lines of records of one actor, by their versions. */
export function linesOf(actorId: string, versions: readonly number[]): string[] {
  return recordsOf(actorId, versions).map(encodeRecord);
}

/** Records as the journal stores them in one group. */
export function groupOf(records: readonly JournalRecord[]): Uint8Array {
  return encodeGroup(records.map(encodeRecord));
}
