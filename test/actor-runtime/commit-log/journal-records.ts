import { encodeGroup, encodeRecord } from '#actor-runtime/record-codec';
import type { JournalRecord } from '#storage/ports/journal';

/** Time at which a `ManualClock` starts. */
const AT_MS = Date.UTC(2026, 0, 15, 12);

/** Record of a tally event. Defaults: version 1 of actor `a`. */
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

/** Records of one actor, one record for each version. */
export function recordsOf(actorId: string, versions: readonly number[]): JournalRecord[] {
  return versions.map((version) => recordOf({ actorId, version }));
}

/** Journal line of a record with these fields. */
export function lineOf(fields: Partial<JournalRecord> = {}): string {
  return encodeRecord(recordOf(fields));
}

/** Journal lines of one actor, one line for each version. */
export function linesOf(actorId: string, versions: readonly number[]): string[] {
  return recordsOf(actorId, versions).map(encodeRecord);
}

/** Group of these records, in the format of the journal. */
export function groupOf(records: readonly JournalRecord[]): Uint8Array {
  return encodeGroup(records.map(encodeRecord));
}
