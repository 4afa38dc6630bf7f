import type { State } from '#identity/state';
import type { AnswerRow, DriftRow, HistoryRow, InstanceHead } from '#storage/instance-store';
import type { EngineAnswer } from '#wire/engine-messages';

/** Bytes of an idle instance in memory without its text, as `make bench` measures them. */
const INSTANCE_BYTES = 1_700;

/** Bytes of one history row in memory: an object of eight numbers and a short text. */
const ROW_BYTES = 150;

/** Bytes of one drift row or stored answer in memory: mostly the JSON text of a deviation or answer. */
const TEXT_ROW_BYTES = 1_500;

/** Rows that no checkpoint has stored, oldest first. */
export type UnstoredRows = {
  readonly history: HistoryRow[];
  readonly drift: DriftRow[];
  readonly answers: AnswerRow[];
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
  /** Monotonic time at which an observation was last accepted in this process; not stored. */
  acceptedMonotonicMs: number | undefined;
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
    acceptedMonotonicMs: undefined,
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
  state.unstored ??= { history: [], drift: [], answers: [] };
  return state.unstored;
}

/** Roughly the bytes an instance holds. */
export function bytesOf({ head, unstored }: InstanceState): number {
  const textBytes = 2 * ((head?.name.length ?? 0) + (head?.description.length ?? 0));
  if (unstored === undefined) return INSTANCE_BYTES + textBytes;
  const { history, drift, answers } = unstored;
  const rowBytes = ROW_BYTES * history.length + TEXT_ROW_BYTES * (drift.length + answers.length);
  return INSTANCE_BYTES + textBytes + rowBytes;
}
