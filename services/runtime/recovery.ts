import type { Activation } from '#runtime/activation';
import type { ActorCall, ActorKind } from '#runtime/actor-kind';
import type { AdoptedTail } from '#runtime/adopted-records';
import type { Moment } from '#runtime/recent-calls';
import { CorruptJournal, decodeRecord } from '#runtime/record-codec';
import type { JournalRecord } from '#storage/journal';

/** Whoever keeps account of records that are durable and in no checkpoint. */
export interface RecoveryBook<State, Call, Answer> {
  recovered(activation: Activation<State, Call, Answer>, records: number, position: number): void;
}

/**
 * Runs an adopted tail again on top of the stored state: what the head has already is skipped, and
 * afterwards the actor is dirty like any other. Throws `CorruptJournal` when a version is missing or
 * a line is no record: going on would lose an acknowledged operation (architecture 3.3).
 */
export function runAgain<State, Call extends ActorCall, Answer, Operation>(
  kind: ActorKind<State, Call, Answer, Operation>,
  activation: Activation<State, Call, Answer>,
  state: State,
  { lines, position }: AdoptedTail,
  now: Moment,
  book: RecoveryBook<State, Call, Answer>,
): void {
  const operations: Operation[] = [];
  const calls: JournalRecord[] = [];
  for (const record of lines.map(decodeRecord).toSorted((a, b) => a.version - b.version)) {
    if (record.version <= activation.version) continue;
    if (record.version > activation.version + 1) {
      const gap = `${activation.version + 1} to ${record.version - 1}`;
      throw new CorruptJournal(`${kind.name} ${activation.id} lacks versions ${gap}`);
    }
    const operation = kind.read(record.operation);
    kind.apply(state, operation, record.version, activation.id);
    activation.version = record.version;
    calls.push(record);
    operations.push(operation);
  }
  if (operations.length === 0) return;
  activation.recent.restore(calls, now);
  activation.position = position;
  activation.owed = kind.owedAfter(activation.id, state, operations);
  book.recovered(activation, operations.length, position);
}
