import { createState, type State } from '#identity/state';
import type { AnswerRow, DriftRow, HistoryRow, InstanceHead } from '#storage/instance-store';
import type { EngineAnswer } from '#wire/engine-messages';

/** Bytes of an instance in memory without text and rows, as measured (docs/model.md, "Size"). */
const INSTANCE_BYTES = 1_700;

/** Bytes of one history row in memory: an object of eight numbers and a short text. */
const ROW_BYTES = 150;

/** One instance in memory: the fields of its head, open to change, and the rows not stored yet. */
export type InstanceState = {
  /** False until created, and again after deletion. */
  isLive: boolean;
  /** Set when it was deleted; kept as the marker. */
  deletedAtMs: number | undefined;
  accountId: string;
  name: string;
  description: string;
  createdAtMs: number;
  updatedAtMs: number;
  originMs: number;
  observedAtMs: number | undefined;
  /** Monotonic time of the last acceptance in this process; not stored. */
  acceptedMonotonicMs: number | undefined;
  generation: number;
  historyCount: number;
  historyStart: number;
  driftCount: number;
  driftStart: number;
  model: State;
  /** Rows and answers that no checkpoint has stored, oldest first. */
  history: HistoryRow[];
  drift: DriftRow[];
  answers: AnswerRow[];
  /** What the operation applied last answers; taken away by the turn that applied it. */
  answer: EngineAnswer | undefined;
};

const NO_MODEL = createState({ modeStrengths: [0, 0, 0, 0, 0, 0, 0], energyLevel: 0 });

/** An instance of which nothing is known. */
export function absentInstance(): InstanceState {
  return {
    isLive: false,
    deletedAtMs: undefined,
    accountId: '',
    name: '',
    description: '',
    createdAtMs: 0,
    updatedAtMs: 0,
    originMs: 0,
    observedAtMs: undefined,
    acceptedMonotonicMs: undefined,
    generation: 1,
    historyCount: 0,
    historyStart: 0,
    driftCount: 0,
    driftStart: 0,
    model: NO_MODEL,
    history: [],
    drift: [],
    answers: [],
    answer: undefined,
  };
}

/** The instance that a head describes. Takes the head's model vector for its own. */
export function instanceFrom(head: InstanceHead): InstanceState {
  const { version: _version, ...fields } = head;
  return { ...absentInstance(), ...fields, isLive: head.deletedAtMs === undefined };
}

/** The head of an instance at a version; shares the model vector with the state. */
export function headOf(state: InstanceState, version: number): InstanceHead {
  const { accountId, name, description, createdAtMs, updatedAtMs, deletedAtMs } = state;
  const { originMs, observedAtMs, generation, model } = state;
  const { historyCount, historyStart, driftCount, driftStart } = state;
  const identity = { version, accountId, name, description };
  const times = { createdAtMs, updatedAtMs, deletedAtMs, originMs, observedAtMs };
  const counts = { generation, historyCount, historyStart, driftCount, driftStart };
  return { ...identity, ...times, ...counts, model };
}

/** Roughly the bytes an instance holds. */
export function bytesOf(state: InstanceState): number {
  const textBytes = 2 * (state.name.length + state.description.length);
  return INSTANCE_BYTES + textBytes + ROW_BYTES * (state.history.length + 4 * state.drift.length);
}
