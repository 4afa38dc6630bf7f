import { decodeGroup } from '#actor-runtime/record-codec';
import type { JournalRecord, JournalStore } from '#storage/ports/journal';
import type { Findings } from '#test/chaos/checks/findings';

/** Journal slots per read. */
const SLOTS_AT_ONCE = 256;

/**
 * Checks that no journal record has a higher version than the stored head of its instance. Such a
 * record exists if the cluster is still active, or if a clean stop did not store the record.
 * `versions` maps instance ids to the versions in the heads.
 */
export async function checkJournals(
  journals: JournalStore,
  versions: ReadonlyMap<string, number>,
  findings: Findings,
): Promise<void> {
  const ahead = new Map<string, number>();
  for (const { incarnation } of await journals.list()) {
    for await (const { actor, actorId, version } of recordsOf(journals, incarnation, findings)) {
      const stored = actor === 'instance' ? versions.get(actorId) : undefined;
      if (stored === undefined || version <= stored) continue;
      ahead.set(actorId, Math.max(version, ahead.get(actorId) ?? 0));
    }
  }
  for (const [id, version] of ahead) {
    findings.add(
      `${id}: a journal holds version ${version}, but the head has version ${versions.get(id)}`,
    );
  }
}

async function* recordsOf(
  journals: JournalStore,
  incarnation: string,
  findings: Findings,
): AsyncGenerator<JournalRecord> {
  const head = await journals.readHead(incarnation, 'serial');
  if (head === undefined) return;
  for (let from = head.lowWaterMark; from < head.next; from += SLOTS_AT_ONCE) {
    const to = Math.min(head.next, from + SLOTS_AT_ONCE);
    const slots = await journals.readSlots(incarnation, from, to);
    if (slots.length !== to - from) {
      findings.add(`journal ${incarnation}: slots are missing between ${from} and ${to}`);
    }
    for (const { records } of slots) yield* decodeGroup(records);
  }
}
