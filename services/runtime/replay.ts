import type { Instant } from '#platform/instant';
import type { Activation } from '#runtime/activation';
import type { ActorCall, ActorKind } from '#runtime/actor-kind';
import { CorruptJournal, decodeRecord } from '#runtime/record-codec';
import type { RecoveredTail } from '#runtime/shard-gate';
import type { JournalRecord } from '#storage/journal';

/** Whoever keeps account of records that are durable and in no checkpoint. */
export interface ReplayLedger<State, Call, Answer> {
  recovered(activation: Activation<State, Call, Answer>, records: number, offset: number): void;
}

/**
 * Runs an recovered tail again on top of the stored state: what the head has already is skipped, and
 * afterwards the actor is dirty like any other. Throws `CorruptJournal` when a version is missing or
 * a line is no record: going on would lose an acknowledged event (architecture 3.3).
 */
export function replay<State, Call extends ActorCall, Answer, Event>(
  kind: ActorKind<State, Call, Answer, Event>,
  activation: Activation<State, Call, Answer>,
  state: State,
  { lines, offset }: RecoveredTail,
  now: Instant,
  book: ReplayLedger<State, Call, Answer>,
): void {
  const records = missing(kind.name, activation, lines);
  if (records.length === 0) return;
  const events = records.map(({ event }) => kind.read(event));
  kind.beforeReplay?.(state, events);
  for (const event of events) {
    activation.version += 1;
    kind.apply(state, event, activation.version, activation.id);
  }
  activation.recent.restore(records, now);
  activation.offset = offset;
  activation.pendingEffect = kind.effectAfterReplay(activation.id, state, events);
  book.recovered(activation, events.length, offset);
}

/** The records behind the activation's version, in the order of theirs. */
function missing(
  kind: string,
  { id, version }: Pick<Activation<never, never, never>, 'id' | 'version'>,
  lines: readonly string[],
): JournalRecord[] {
  const records: JournalRecord[] = [];
  for (const record of lines.map(decodeRecord).toSorted((a, b) => a.version - b.version)) {
    const next = version + records.length + 1;
    if (record.version > next) {
      throw new CorruptJournal(`${kind} ${id} lacks versions ${next} to ${record.version - 1}`);
    }
    if (record.version === next) records.push(record);
  }
  return records;
}
