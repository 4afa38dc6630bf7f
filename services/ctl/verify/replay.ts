import { advance } from '#identity/advance';
import { at } from '#identity/numbers';
import { OFFSET, resetToDefault, resetToInitial, type State } from '#identity/state';
import { type HistoryRow, type InstanceHead, unpackedState } from '#storage/ports/instances';

/** A reset that the caller of a replay knows of. */
export type KnownReset = {
  readonly mode: 'initial' | 'default';
  /** Server time in Unix milliseconds; undefined: not known. */
  readonly atMs: number | undefined;
};

/** How the present generation began, as far as the replay knows. */
export type ReplayStart =
  /** With the creation: everything there is has been run again. */
  | 'created'
  /** With a reset to the state of the creation: older generations do not matter for the head. */
  | 'initial'
  /** With a reset to a checkpoint that was itself run again, in generation `since` and after. */
  | 'default'
  /** With a reset to a checkpoint that the head still holds, and that was taken on trust. */
  | 'kept'
  /** Before older rows were trimmed: the head has the state that they came to (decision 234). */
  | 'floor';

/** A state that the instance may be in, and where it comes from. */
export type ReplayedState = {
  readonly state: State;
  /** How the present generation began. */
  readonly start: ReplayStart;
  /** The generation whose start needed no other, and the rows before it. */
  readonly since: number;
  readonly rowsBefore: number;
  /** Cycles of the present generation with a drift event. */
  driftEvents: number;
};

/** Possible pasts that are followed at once; resets that leave the same state are one. */
const BRANCHES_MAX = 32;

/**
 * Every past that the rows allow. A row does not say how its generation began, so at each unknown
 * reset a branch for either mode goes on. The vector holds what every `initial` needs; `default`
 * needs the end of the generation before, and that generation's origin, which is known for the
 * first one (the creation) and the present one (the head) only: a branch without it ends.
 */
export class ReplayBranches {
  readonly #head: InstanceHead;
  readonly #resets: ReadonlyMap<number, KnownReset>;
  readonly #initial: State;
  #branches: ReplayedState[];
  #generation: number;
  #rows: number;
  /** Time of the last row of the generation. */
  #observedAtMs: number | undefined;
  #isIncomplete: boolean;

  constructor(head: InstanceHead, resets: ReadonlyMap<number, KnownReset>) {
    this.#head = head;
    this.#resets = resets;
    this.#initial = resetToInitial(head.model);
    const { floor } = head;
    this.#generation = floor?.generation ?? 1;
    this.#rows = floor?.history ?? 0;
    this.#observedAtMs = floor?.timestampMs;
    this.#isIncomplete = floor !== undefined && floor.state === undefined;
    this.#branches = this.#isIncomplete ? [] : [this.#first()];
  }

  /** What the instance may be in after the rows so far. Changed by the next. */
  get states(): readonly State[] {
    return this.#branches.map(({ state }) => state);
  }

  /** Whether the instance may have had a past that is not among the branches. */
  get isIncomplete(): boolean {
    return this.#isIncomplete;
  }

  /** Runs a row on every branch; returns the states, which the next row changes. */
  observe(row: HistoryRow): readonly State[] {
    while (this.#generation < row.generation) this.#reset();
    const beforeMs = this.#observedAtMs ?? this.#originMs(row);
    if (beforeMs === undefined) this.#loseBranches();
    const dtSeconds = (row.timestampMs - (beforeMs ?? row.timestampMs)) / 1_000;
    for (const branch of this.#branches) {
      advance(branch.state, row, dtSeconds, branch.state);
      if (at(branch.state, OFFSET.driftLevel) > 0) branch.driftEvents += 1;
    }
    this.#observedAtMs = row.timestampMs;
    this.#rows += 1;
    return this.states;
  }

  /** The states after the last row and the last reset, those that need least trust first. */
  end(): readonly ReplayedState[] {
    while (this.#generation < this.#head.generation) this.#reset();
    return this.#branches;
  }

  #reset(): void {
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
      const reset = { state: resetToDefault(state), since, rowsBefore };
      this.#add({ ...reset, start: 'default', driftEvents: 0 });
    }
    if (this.#isIncomplete) this.#addKept();
  }

  /** The head still holds the checkpoint that the reset went to, as long as there is no newer one. */
  #addKept(): void {
    const { model, generation } = this.#head;
    if (this.#generation !== generation || at(model, OFFSET.savedCycle) !== 0) return;
    this.#add({ ...this.#fresh('kept'), state: resetToDefault(model) });
  }

  /** Where the rows begin. */
  #first(): ReplayedState {
    const { floor, generation, driftStart } = this.#head;
    if (floor?.state === undefined) return this.#fresh('created');
    const driftEvents = floor.generation === generation ? floor.drift - driftStart : 0;
    return { ...this.#fresh('floor'), state: unpackedState(floor.state), driftEvents };
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
   * When the generation began; undefined: it is not stored. A first observation from
   * before the creation is from before every reset too, and then no interval is counted.
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

function isSame(one: State, other: State): boolean {
  return one.every((value, place) => Object.is(value, other[place]));
}
