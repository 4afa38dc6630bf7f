import assert from 'node:assert/strict';
import type { Activation } from '#actor-runtime/activation';
import type { ActorCall, ActorKind } from '#actor-runtime/actor-kind';
import type { Notice } from '#actor-runtime/event-sourcing';
import type { RecoveredTail } from '#actor-runtime/host-ports';
import type { Outbox } from '#actor-runtime/outbox';
import { CorruptJournal, decodeRecord } from '#actor-runtime/record-codec';
import type { SideEffect } from '#actor-runtime/turn';
import type { Instant } from '#stdlib/clock';
import type { JournalRecord } from '#storage/ports/journal';

/** Interface to `DirtyActors` for tracking replayed records. */
interface ReplayLedger<State, Call, Answer> {
  recovered(
    activation: Activation<State, Call, Answer>,
    records: number,
    offset: number,
    effect: SideEffect | undefined,
  ): void;
}

/**
 * Applies a recovered tail to the stored state, marks the actor dirty, and adds the notices of the
 * records to the outbox. Skips records that the head includes. Throws `CorruptJournal` when a version is missing or a line is not a record:
 * continuing would lose an acknowledged event (architecture 3.3).
 */
export function replay<State, Call extends ActorCall, Answer, Event>(
  kind: ActorKind<State, Call, Answer, Event>,
  activation: Activation<State, Call, Answer>,
  state: State,
  { lines, offset }: RecoveredTail,
  now: Instant,
  book: ReplayLedger<State, Call, Answer>,
  outbox?: Outbox,
): void {
  const { name, sourcing } = kind;
  assert(sourcing !== undefined, 'a journal holds no records of a kind without events');
  const { id } = activation;
  const records = missing(name, activation, lines);
  if (records.length === 0) return;
  const events = records.map(({ event }) => sourcing.read(event));
  let present = sourcing.beforeReplay?.(state, events) ?? state;
  const notices: { readonly version: number; readonly notice: Notice }[] = [];
  for (const event of events) {
    activation.version += 1;
    const { version } = activation;
    const applied = sourcing.apply(present, event, version, id);
    present = applied.state;
    const { notice } = applied;
    if (notice !== undefined) notices.push({ version, notice });
  }
  for (const { version, notice } of notices) outbox?.add(id, version, offset, notice);
  activation.state = present;
  activation.recent.restore(records, now);
  activation.offset = offset;
  const effect = sourcing.effectAfterReplay?.(id, present, events);
  book.recovered(activation, events.length, offset, effect);
}

/** Records after the activation's version, in order of version. */
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
