import type { InstanceOperation } from '#engine/instance-operation';
import type { ClockAnchor } from '#engine/observation-timing';
import type { State } from '#identity/state';
import type { AnswerRow, DriftRow, HistoryRow, InstanceHead } from '#storage/instance-store';
import type { EngineAnswer } from '#wire/engine-messages';

/** Bytes of an idle instance in memory without its text, as `make bench` measures them. */
const INSTANCE_BYTES = 1_800;

/** Bytes of one row in memory without its text, as `make bench` measures them. */
const ROW_BYTES = 200;

/** Rows that no checkpoint has stored, oldest first. */
export type UnstoredRows = {
  readonly history: HistoryRow[];
  readonly drift: DriftRow[];
  readonly answers: AnswerRow[];
  /** Roughly the bytes of all of them. */
  bytes: number;
};

/**
 * One instance in memory. What is stored of it is one immutable value, the head, which every
 * operation replaces; so an idle instance and a store in the same process share it.
 */
export type InstanceState = {
  /** Undefined: nothing was ever committed. With `deletedAtMs` it is the marker of a deleted one. */
  head: InstanceHead | undefined;
  /** Whether somebody else may hold the head's model, so that it must be copied before a change. */
  isModelShared: boolean;
  /** When it was last observed by both clocks of this process; undefined before the first time. */
  clockAnchor: ClockAnchor | undefined;
  /** Made on first use, because an idle instance has none. */
  unstored: UnstoredRows | undefined;
  /** What the operation applied last answers; taken away by the turn that applied it. */
  answer: EngineAnswer | undefined;
};

/** The instance that a head describes, or one of which nothing is known. */
export function instanceFrom(head: InstanceHead | undefined): InstanceState {
  return {
    head,
    isModelShared: true,
    clockAnchor: undefined,
    unstored: undefined,
    answer: undefined,
  };
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

/** The rows that no checkpoint has stored, for adding to. */
export function unstoredOf(state: InstanceState): UnstoredRows {
  state.unstored ??= { history: [], drift: [], answers: [], bytes: 0 };
  return state.unstored;
}

/** Roughly the bytes an instance holds. */
export function bytesOf({ head, unstored }: InstanceState): number {
  const textBytes = 2 * ((head?.name.length ?? 0) + (head?.description.length ?? 0));
  return INSTANCE_BYTES + textBytes + (unstored?.bytes ?? 0);
}

/** Roughly the bytes of a row that holds so much text. JSON text takes a byte a character. */
export function bytesOfRow(textLength: number): number {
  return ROW_BYTES + textLength;
}

/** Roughly the bytes that a committed operation waits with until it is stored. */
export function bytesOfRecord({ change }: InstanceOperation): number {
  if (change.kind !== 'observed') return ROW_BYTES;
  return change.observations.reduce(
    (sum, { contextJson }) => sum + bytesOfRow(contextJson.length),
    0,
  );
}
