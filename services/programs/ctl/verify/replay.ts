import { MODEL_1_0, type Model } from '#identity/model';
import { at, OFFSET, type State } from '#identity/state';
import { type HistoryRow, type InstanceHead, unpackedState } from '#storage/ports/instances';

/** A reset known to the caller of a replay. */
export type KnownReset = {
  readonly mode: 'initial' | 'default';
  /** Server time in Unix milliseconds. Undefined if unknown. */
  readonly atMs: number | undefined;
};

/** Called with the possible states at the start of a generation. Valid during the call only. */
type OnReset = (generation: number, states: readonly State[]) => void;

/** Start of a replayed state, from the strongest to the weakest proof. */
export type ReplayStart =
  /** Creation: all rows were replayed. */
  | 'created'
  /** Reset to the initial state: older generations do not affect the head. */
  | 'initial'
  /** Reset to a checkpoint that was itself replayed, from generation `since` on. */
  | 'default'
  /** Reset to a checkpoint that the head still holds. The checkpoint is not verified. */
  | 'kept'
  /** The floor of trimmed rows: the head stores the state at the floor (decision 234). */
  | 'floor';

/** A possible instance state, and its origin. */
export type ReplayedState = {
  readonly state: State;
  /** How the present generation began. */
  readonly start: ReplayStart;
  /** First generation that starts independently of older generations, and the rows before it. */
  readonly since: number;
  readonly rowsBefore: number;
  /** Number of cycles with a drift event in the present generation. */
  driftEvents: number;
};

/** Model of the rows before the head's model took over: the only other released model. */
const FIRST = MODEL_1_0;

/** Maximum branches. Branches with equal states are merged. */
const BRANCHES_MAX = 32;

/**
 * Replays every history that the rows allow. A row does not record how its generation began, so an
 * unknown reset adds a branch for each mode. The state vector has all inputs of an `initial` reset.
 * A `default` reset needs the end state of the previous generation.
 *
 * A row does not record the model version either. In the head's generation, the model changes at
 * the cycle that the head stores (`Model.sinceCycle`). Earlier generations are replayed with model
 * 1.0, because a reset keeps only values that all models compute in the same way.
 *
 * The first interval of a generation needs the generation's origin. An origin is known only for the
 * first generation (creation), for the present generation (head) and for known resets. Without an
 * origin, all branches end.
 */
export class ReplayBranches {
  readonly #head: InstanceHead;
  readonly #model: Model;
  /** Whether the states are states of the head's model. */
  #isTakenOver = false;
  readonly #resets: ReadonlyMap<number, KnownReset>;
  readonly #initial: State;
  readonly #onReset: OnReset;
  #branches: ReplayedState[];
  #generation: number;
  #rows: number;
  /** Timestamp of the last row in this generation. */
  #observedAtMs: number | undefined;
  #isIncomplete: boolean;

  /** `model` is the model of the head. `onReset` gets each new generation and its first states. */
  constructor(
    head: InstanceHead,
    model: Model,
    resets: ReadonlyMap<number, KnownReset>,
    onReset: OnReset = () => undefined,
  ) {
    this.#head = head;
    this.#onReset = onReset;
    this.#model = model;
    this.#resets = resets;
    this.#initial = FIRST.resetToInitial(head.model);
    const { floor } = head;
    this.#generation = floor?.generation ?? 1;
    this.#rows = floor?.history ?? 0;
    this.#observedAtMs = floor?.timestampMs;
    this.#isIncomplete = floor !== undefined && floor.state === undefined;
    this.#branches = this.#isIncomplete ? [] : [this.#first()];
  }

  /** Possible states after the rows so far. The next row changes them in place. */
  get states(): readonly State[] {
    return this.#branches.map(({ state }) => state);
  }

  /** Whether the instance may have a history that no branch replays. */
  get isIncomplete(): boolean {
    return this.#isIncomplete;
  }

  /** Applies a row to every branch. Returns the states, which the next row changes in place. */
  observe(row: HistoryRow): readonly State[] {
    while (this.#generation < row.generation) this.#reset();
    this.#takeOver();
    const beforeMs = this.#observedAtMs ?? this.#originMs(row);
    if (beforeMs === undefined) this.#loseBranches();
    const dtSeconds = (row.timestampMs - (beforeMs ?? row.timestampMs)) / 1_000;
    for (const branch of this.#branches) {
      const { advance } = this.#isTakenOver ? this.#model : FIRST;
      advance(branch.state, row, dtSeconds, branch.state);
      if (at(branch.state, OFFSET.driftLevel) > 0) branch.driftEvents += 1;
    }
    this.#observedAtMs = row.timestampMs;
    this.#rows += 1;
    return this.states;
  }

  /**
   * Returns the states after the last row and the last reset, ordered from the strongest proof to
   * the weakest.
   */
  end(): readonly ReplayedState[] {
    while (this.#generation < this.#head.generation) this.#reset();
    this.#takeOver();
    return this.#branches;
  }

  #reset(): void {
    this.#begin();
    this.#onReset(this.#generation, this.states);
  }

  #begin(): void {
    this.#generation += 1;
    this.#observedAtMs = undefined;
    const mode = this.#resets.get(this.#generation)?.mode;
    const ends = this.#branches;
    this.#branches = [];
    if (mode !== 'default') this.#add(this.#fresh('initial'));
    if (mode === 'initial') {
      this.#isIncomplete = false;
      return;
    }
    for (const { state, since, rowsBefore } of ends) {
      const reset = { state: FIRST.resetToDefault(state), since, rowsBefore };
      this.#add({ ...reset, start: 'default', driftEvents: 0 });
    }
    if (this.#isIncomplete) this.#addKept();
  }

  /** The head still holds the checkpoint of the reset until a newer checkpoint is taken. */
  #addKept(): void {
    const { model, generation } = this.#head;
    if (this.#generation !== generation || at(model, OFFSET.savedCycle) !== 0) return;
    this.#add({ ...this.#fresh('kept'), state: FIRST.resetToDefault(firstPartOf(model)) });
  }

  /** State before the first row: the state at the floor, or the initial state. */
  #first(): ReplayedState {
    const { floor, generation, driftStart } = this.#head;
    if (floor?.state === undefined) return this.#fresh('created');
    const driftEvents = floor.generation === generation ? floor.drift - driftStart : 0;
    const state = unpackedState(floor.state);
    this.#isTakenOver = floor.generation === generation && state.length === this.#model.stateLength;
    const replayed = this.#isTakenOver ? state : firstPartOf(state);
    return { ...this.#fresh('floor'), state: replayed, driftEvents };
  }

  /** Converts the states to the head's model once the cycle of its takeover is reached. */
  #takeOver(): void {
    const { generation, model } = this.#head;
    const takeOver = this.#model.takesOver.get(FIRST.version);
    if (this.#isTakenOver || takeOver === undefined || this.#generation < generation) return;
    const sinceCycle = this.#model.sinceCycle(model);
    if (this.#branches.some(({ state }) => at(state, OFFSET.cycle) < sinceCycle)) return;
    this.#branches = this.#branches.map((branch) => ({ ...branch, state: takeOver(branch.state) }));
    this.#isTakenOver = true;
  }

  #fresh(start: ReplayStart): ReplayedState {
    const where = { since: this.#generation, rowsBefore: this.#rows };
    return { ...where, state: this.#initial.slice(), start, driftEvents: 0 };
  }

  #add(branch: ReplayedState): void {
    if (this.#branches.some(({ state }) => isSame(state, branch.state))) return;
    if (this.#branches.length < BRANCHES_MAX) this.#branches.push(branch);
    else this.#isIncomplete = true;
  }

  #loseBranches(): void {
    this.#branches = [];
    this.#isIncomplete = true;
  }

  /**
   * Start of the generation in Unix milliseconds. Undefined if the start is not stored. A first
   * observation older than the creation precedes every reset, so the creation is the start.
   */
  #originMs({ timestampMs, generation }: HistoryRow): number | undefined {
    const { createdAtMs, originMs } = this.#head;
    if (generation === 1) return createdAtMs;
    if (generation === this.#head.generation) return originMs;
    return (
      this.#resets.get(generation)?.atMs ?? (timestampMs <= createdAtMs ? createdAtMs : undefined)
    );
  }
}

/** The part of a state that every model has. */
function firstPartOf(state: State): State {
  return state.slice(0, FIRST.stateLength);
}

function isSame(one: State, other: State): boolean {
  return one.every((value, place) => Object.is(value, other[place]));
}
