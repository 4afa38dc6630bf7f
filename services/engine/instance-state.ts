import type { InstanceEvent } from '#engine/instance-event';
import type { State } from '#identity/state';
import type { Instant } from '#platform/instant';
import type { AnswerRow, DriftRow, HistoryRow, InstanceHead } from '#storage/instance-store';
import type { EngineAnswer } from '#wire/engine-messages';

/** Bytes of an idle instance in memory without its text and its model. Measured, as all below. */
const INSTANCE_BYTES = 780;

/** Bytes of a model in memory. `test/engine/held-bytes` holds these estimates against the heap. */
const MODEL_BYTES = 1_100;

/** Bytes of the lists of rows that are not stored. */
const UNSTORED_BYTES = 300;

/** Bytes of rows in memory without their text. */
const HISTORY_ROW_BYTES = 150;
const DRIFT_ROW_BYTES = 180;
const ANSWER_ROW_BYTES = 300;

/** Bytes of a record without its text, by estimate. */
const RECORD_BYTES = 200;

/** Bytes of one of its observations in memory, without the text that its row shares. */
const OBSERVATION_BYTES = 150;

/** Characters that take two bytes in memory, and make all others of their text do so. */
const WIDE = /[\u0100-\uffff]/;

/** Rows that no checkpoint has stored, oldest first. */
export type UnstoredRows = {
  readonly history: HistoryRow[];
  readonly drift: DriftRow[];
  readonly answers: AnswerRow[];
  /** Roughly the bytes of all of them. */
  bytes: number;
};

/** A stored head, and the events behind it that were run again. */
export type Recovery = {
  readonly head: InstanceHead | undefined;
  readonly events: readonly InstanceEvent[];
  /** Bytes of all their text, which the rows made of it share. */
  readonly textBytes: number;
  /** Roughly the bytes of both that nothing else holds. */
  readonly bytes: number;
};

/**
 * One instance in memory. What is stored of it is one immutable value, the head, which every
 * event replaces; so an idle instance and a store in the same process share it.
 */
export type InstanceState = {
  /** Undefined: nothing was ever committed. With `deletedAtMs` it is the marker of a deleted one. */
  head: InstanceHead | undefined;
  /** Whether somebody else may hold the head's model, so that it must be copied before a change. */
  isModelShared: boolean;
  /** When it was last observed by both clocks of this process; undefined before the first time. */
  clockAnchor: Instant | undefined;
  /** Bytes of name and description in memory. */
  textBytes: number;
  /** Made on first use, because an idle instance has none. */
  unstored: UnstoredRows | undefined;
  /** What recovery started from and ran again, until the next checkpoint. */
  recovery: Recovery | undefined;
  /** What the event applied last answers; taken away by the turn that applied it. */
  answer: EngineAnswer | undefined;
};

/** The instance that a head describes, or one of which nothing is known. */
export function instanceFrom(head: InstanceHead | undefined): InstanceState {
  return {
    head,
    isModelShared: true,
    textBytes: bytesOfHead(head),
    clockAnchor: undefined,
    unstored: undefined,
    recovery: undefined,
    answer: undefined,
  };
}

/** Bytes of a head's text in memory. */
export function bytesOfHead(head: InstanceHead | undefined): number {
  return bytesOfText(head?.name ?? '') + bytesOfText(head?.description ?? '');
}

/** The head of an instance that is there. Whoever calls has made sure that it is. */
export function headOf({ head }: InstanceState): InstanceHead {
  if (head === undefined) throw new Error('the instance has no head');
  return head;
}

/** Whether the instance was created and not deleted. */
export function isLive({ head }: InstanceState): boolean {
  return head !== undefined && head.deletedAtMs === undefined;
}

/** The model vector, for changing: a copy of its own if anybody else could see the change. */
export function ownModelOf(state: InstanceState): State {
  const { model } = headOf(state);
  return state.isModelShared ? model.slice() : model;
}

function unstoredOf(state: InstanceState): UnstoredRows {
  state.unstored ??= { history: [], drift: [], answers: [], bytes: UNSTORED_BYTES };
  return state.unstored;
}

/** Roughly the bytes an instance holds. */
export function bytesOf(state: InstanceState): number {
  const modelBytes = (state.head?.model.length ?? 0) > 0 ? MODEL_BYTES : 0;
  return INSTANCE_BYTES + modelBytes + bytesUnstored(state);
}

/** Those of them that were not there before it changed, and its text: it stays until it is stored. */
export function bytesUnstored({ textBytes, unstored, recovery }: InstanceState): number {
  const rows = textBytes + (unstored?.bytes ?? 0);
  return recovery === undefined ? rows : rows + recovery.bytes;
}

/**
 * Keeps what a recovery starts from: until the next checkpoint callers may come back for answers of
 * its records (decision 90).
 */
export function rememberRecovery(state: InstanceState, events: readonly InstanceEvent[]): void {
  // The first change copies the model from here on.
  state.isModelShared = true;
  const { head } = state;
  const textBytes = events.reduce((sum, one) => sum + bytesOfTexts(one), bytesOfHead(head));
  const shells = events.reduce((sum, { change }) => {
    const count = change.kind === 'observed' ? change.observations.length : 0;
    return sum + RECORD_BYTES + count * OBSERVATION_BYTES;
  }, 0);
  // A vector of its own has only what was stored before.
  const bytes = shells + (head !== undefined && head.model.length > 0 ? MODEL_BYTES : 0);
  state.recovery = { head, events, textBytes, bytes };
}

/** Text leaves the head or the rows: what a recovery keeps of it is held by that alone from now on. */
export function leaveText(state: InstanceState, leavingBytes: number): void {
  const { recovery } = state;
  if (recovery === undefined) return;
  const ownBytes = Math.min(leavingBytes, recovery.textBytes);
  const { bytes, textBytes } = recovery;
  state.recovery = { ...recovery, bytes: bytes + ownBytes, textBytes: textBytes - ownBytes };
}

/** What the event applied last answers; for its turn alone. */
export function takeAnswer(state: InstanceState): EngineAnswer {
  const { answer } = state;
  state.answer = undefined;
  if (answer === undefined) throw new Error('an applied event leaves an answer');
  return answer;
}

/** Bytes of a text in memory. */
export function bytesOfText(text: string): number {
  return WIDE.test(text) ? 2 * text.length : text.length;
}

/** Adds to what is not stored. */
export function addHistory(state: InstanceState, row: HistoryRow): void {
  const unstored = unstoredOf(state);
  unstored.history.push(row);
  unstored.bytes += HISTORY_ROW_BYTES + bytesOfText(row.contextJson);
}

/** The same for a drift event. */
export function addDrift(state: InstanceState, row: DriftRow): void {
  const unstored = unstoredOf(state);
  unstored.drift.push(row);
  unstored.bytes += DRIFT_ROW_BYTES + row.deviationJson.length + row.affectedModesJson.length;
}

/** The same for an answer. */
export function addAnswer(state: InstanceState, row: AnswerRow): void {
  const unstored = unstoredOf(state);
  unstored.answers.push(row);
  const { key, fingerprint, body, etag } = row;
  unstored.bytes += ANSWER_ROW_BYTES + key.length + fingerprint.length + etag.length;
  unstored.bytes += bytesOfText(body);
}

/** The bytes of the rows alone. */
export function bytesOfRows(unstored: UnstoredRows | undefined): number {
  return unstored === undefined ? 0 : unstored.bytes - UNSTORED_BYTES;
}

/** Roughly the bytes of a committed event's record. */
export function bytesOfRecord({ change }: InstanceEvent): number {
  if (change.kind !== 'observed') return RECORD_BYTES;
  return change.observations.reduce(
    (sum, { contextJson }) => sum + RECORD_BYTES + contextJson.length,
    0,
  );
}

function bytesOfTexts({ change }: InstanceEvent): number {
  switch (change.kind) {
    case 'created':
    case 'renamed':
      return bytesOfText(change.name ?? '') + bytesOfText(change.description ?? '');
    case 'observed':
      return change.observations.reduce((sum, one) => sum + bytesOfText(one.contextJson), 0);
    case 'removed':
    case 'reset':
      return 0;
  }
}
