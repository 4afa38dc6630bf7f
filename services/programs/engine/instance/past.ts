import { reportOf } from '#engine/instance/answers';
import { stateRowOf } from '#engine/instance/apply';
import { type EventRows, eventRowsOf } from '#engine/instance/sourcing';
import { headOf, type InstanceState, modelOf } from '#engine/instance/state';
import { type Fault, faultFor } from '#errors/fault';
import type { Model, Models } from '#identity/model';
import type { State } from '#identity/state';
import { CorruptState } from '#storage/ports/bytes';
import {
  type Floor,
  type HistoryRow,
  type InstanceStore,
  type PackedHead,
  type PackedRows,
  packedHead,
  packedState,
  unpackedHead,
  unpackedState,
} from '#storage/ports/instances';
import {
  comparePositions,
  STATE_SPACING,
  type StatePosition,
  type StateRange,
  type StateRow,
  statesIn,
} from '#storage/ports/states';

/** Immutable view of an instance, for reads of its past outside its turn. */
export type PastView = {
  readonly instanceId: string;
  readonly head: PackedHead;
  /** Present cycle. */
  readonly cycle: number;
  /** Rows and states that the store lacks. */
  readonly history: readonly PackedRows[];
  readonly states: readonly StateRow[];
};

/** View of an instance at this turn. */
export function pastView(instanceId: string, state: InstanceState, models: Models): PastView {
  const head = packedHead(headOf(state));
  const { cycle } = reportOf(instanceId, head, models).snapshot;
  const { history = [], states = [] } = state.unstored ?? {};
  return { instanceId, head, cycle, history: history.slice(), states: states.slice() };
}

type PastStore = Pick<InstanceStore, 'readHistory' | 'readDrift' | 'readStates' | 'findStates'>;

/** Dependencies of reads of the past. */
export type PastPorts = {
  readonly store: PastStore;
  readonly models: Models;
  /** Called between two model steps. Lets other turns run, and throws after the deadline. */
  readonly pause: () => Promise<void> | undefined;
  /** Called after each replay. `isSame`: the replay reached the next known state bit for bit. */
  readonly onReplay: (isSame: boolean) => void;
};

/**
 * Maximum number of observations between two known states that a replay crosses. Only histories
 * with observations of older releases have longer distances.
 */
const REPLAY_ROWS_MAX = 4 * STATE_SPACING;

/** A known state from which a replay may start. A derived state is not stored, so it needs proof. */
type ReplayStart = { readonly row: StateRow; readonly isDerived: boolean };

/**
 * Past states of an instance (decision 318). A state is stored, or replayed from the nearest stored
 * state. A replay counts only if it reaches the next known state bit for bit.
 */
export class PastStates {
  readonly #view: PastView;
  readonly #ports: PastPorts;
  readonly #rows: EventRows;

  constructor(view: PastView, ports: PastPorts) {
    const { instanceId, head, history } = view;
    this.#view = view;
    this.#ports = ports;
    this.#rows = eventRowsOf(instanceId, { head, unstored: { history, drift: [] } }, ports.store);
  }

  /**
   * States at cycles of a generation, in the given order. Cycles between the same stored states
   * share a replay. Throws `unknown_cycle`, `cycle_trimmed` or `state_not_stored`, each with the
   * first available cycle, and `replay_mismatch` if a replay does not reach the next known state.
   */
  async at(generation: number, cycles: readonly number[]): Promise<readonly StateRow[]> {
    const found = new Map<number, StateRow>();
    for (const cycle of cycles) {
      if (found.has(cycle)) continue;
      for (const row of await this.#around({ generation, cycle }, cycles))
        found.set(row.cycle, row);
      if (!found.has(cycle)) throw this.#unknown({ generation, cycle });
    }
    return cycles.flatMap((cycle) => found.get(cycle) ?? []);
  }

  /** States at a position, and at those cycles that the same replay passes. */
  async #around(position: StatePosition, cycles: readonly number[]): Promise<StateRow[]> {
    this.#assertPlausible(position);
    if (comparePositions(position, this.#present) === 0) return [this.#presentRow()];
    const end = (await this.#after(position)) ?? this.#presentRow();
    const start = await this.#startOf(position, end);
    if (start?.row.cycle === position.cycle && !start.isDerived) return [start.row];
    const isProvable = start !== undefined && isWithinReach(start.row, end);
    if (!isProvable) throw await this.#notStored(position);
    return await this.#replayed(start, position, new Set(cycles), end);
  }

  /**
   * At most `points` stored states of a generation, in even steps, oldest first. The first is the
   * first stored state. The present state of the present generation is the last.
   */
  async points(generation: number, points: number): Promise<readonly StateRow[]> {
    const { head } = this.#view;
    const isPresent = generation === head.generation;
    this.#assertPlausible({ generation, cycle: isPresent ? this.#view.cycle : 0 }, true);
    const whole = { generation, cycle: 0 };
    const first = await this.#after(whole, true);
    const last = await this.#upTo({ generation, cycle: Number.MAX_SAFE_INTEGER });
    const isStored = first?.generation === generation && last !== undefined;
    if (!isStored && !isPresent) throw await this.#notStored(whole);
    const lastCycle = isPresent ? this.#view.cycle : (last?.cycle ?? 0);
    const known = isStored ? first : this.#presentRow();
    const wanted = pointsFrom(known, lastCycle, points);
    const memory = [known, ...(isPresent ? [this.#presentRow()] : []), ...this.#view.states];
    const found = new Map<number, StateRow>();
    for (const row of memory) {
      if (row.generation === generation && wanted.has(row.cycle)) found.set(row.cycle, row);
    }
    const missing = [...wanted].filter((cycle) => !found.has(cycle));
    const { instanceId } = this.#view;
    for (const row of await this.#ports.store.findStates(instanceId, generation, missing)) {
      found.set(row.cycle, row);
    }
    return [...found.values()].sort(comparePositions);
  }

  get #present(): StatePosition {
    return { generation: this.#view.head.generation, cycle: this.#view.cycle };
  }

  #presentRow(): StateRow {
    return stateRowOf(unpackedHead(this.#view.head), this.#view.cycle, 'spaced');
  }

  /** Throws for a position after the present or before the floor. */
  #assertPlausible(at: StatePosition, isWholeGeneration = false): void {
    if (comparePositions(at, this.#present) > 0) throw this.#unknown(at);
    const { floor } = this.#view.head;
    if (floor === undefined) return;
    const isTrimmed = isWholeGeneration
      ? at.generation < floor.generation
      : comparePositions(at, floor) < 0;
    if (isTrimmed) throw this.#trimmed(at, floor);
  }

  /** Known state at a position, or the last before it in its generation. */
  async #startOf(at: StatePosition, end: StateRow): Promise<ReplayStart | undefined> {
    const row = await this.#upTo(at);
    if (row !== undefined) return { row, isDerived: false };
    const derived = this.#derivedStart(at, end);
    return derived && { row: derived, isDerived: true };
  }

  async #upTo(at: StatePosition): Promise<StateRow | undefined> {
    const to = comparePositions(at, this.#present) < 0 ? at : this.#present;
    const from = this.#fromFloor({ generation: at.generation, cycle: 0 });
    const range = { from, to, limit: 1, isNewestFirst: true };
    const [unstored] = statesIn(this.#view.states, range);
    const row = unstored ?? (await this.#stored(range));
    const floor = this.#floorRow();
    const isFloorNearest =
      floor?.generation === at.generation && floor.cycle <= at.cycle && row === undefined;
    return isFloorNearest ? floor : row;
  }

  /** First known state after a position; with `isIncluded` also at the position. */
  async #after(at: StatePosition, isIncluded = false): Promise<StateRow | undefined> {
    const { generation, cycle } = at;
    const from = this.#fromFloor({ generation, cycle: isIncluded ? cycle : cycle + 1 });
    if (comparePositions(from, this.#present) > 0) return undefined;
    const range = { from, to: this.#present, limit: 1, isNewestFirst: false };
    const row = (await this.#stored(range)) ?? statesIn(this.#view.states, range)[0];
    const floor = this.#floorRow();
    const isFloorFirst = floor !== undefined && comparePositions(floor, from) === 0;
    return isFloorFirst && row?.ordinal !== floor.ordinal ? floor : row;
  }

  #fromFloor(from: StatePosition): StatePosition {
    const { floor } = this.#view.head;
    return floor === undefined || comparePositions(from, floor) >= 0 ? from : floor;
  }

  async #stored(range: StateRange): Promise<StateRow | undefined> {
    const [row] = await this.#ports.store.readStates(this.#view.instanceId, range);
    return row;
  }

  /** State at the floor of trimmed rows. Undefined if the state or its model is unknown. */
  #floorRow(): StateRow | undefined {
    const { floor } = this.#view.head;
    if (floor?.state === undefined) return undefined;
    const { generation, cycle, timestampMs, history: ordinal, state } = floor;
    const modelVersion = modelOfState(this.#ports.models, state)?.version;
    if (modelVersion === undefined) return undefined;
    // At cycle 0, the time of the floor is the start of the generation.
    const observedAtMs = cycle === 0 ? undefined : timestampMs;
    const at = { generation, cycle, ordinal, originMs: timestampMs, observedAtMs };
    return { ...at, cause: 'spaced', modelVersion, state };
  }

  /**
   * State in which an instance was created, derived from the constants of its home. `end` is the
   * first known state, which proves the derived state.
   */
  #derivedStart({ generation }: StatePosition, end: StateRow): StateRow | undefined {
    const { head, instanceId } = this.#view;
    if (generation !== 1 || head.floor !== undefined) return undefined;
    const { models } = this.#ports;
    const model = firstModelOf(modelOf(models, end.modelVersion, instanceId), end, models);
    if (model === undefined) return undefined;
    const state = packedState(model.resetToInitial(unpackedState(end.state)));
    const at = { generation, cycle: 0, ordinal: 0, observedAtMs: undefined };
    return {
      ...at,
      cause: 'initial',
      originMs: head.createdAtMs,
      modelVersion: model.version,
      state,
    };
  }

  /**
   * Replays the observations from a known state to `end`. Returns the states at `cycles` on the way.
   * Throws unless the replay reaches `end`. `at` is the position that needed the replay.
   */
  async #replayed(
    { row: start, isDerived }: ReplayStart,
    at: StatePosition,
    cycles: ReadonlySet<number>,
    end: StateRow,
  ): Promise<StateRow[]> {
    const { instanceId } = this.#view;
    const rows = await this.#rows.history(start.ordinal + 1, end.ordinal);
    const replay = new Replay(start, modelOf(this.#ports.models, start.modelVersion, instanceId));
    const found = cycles.has(start.cycle) ? [start] : [];
    for (const row of rows) {
      const pause = this.#ports.pause();
      if (pause !== undefined) await pause;
      const isOver = end.cause === 'model' && row.ordinal === end.ordinal;
      if (isOver) replay.takeOver(modelOf(this.#ports.models, end.modelVersion, instanceId));
      replay.observe(row, instanceId);
      if (cycles.has(row.cycle)) found.push(replay.row);
    }
    const isSame = replay.leadsTo(end);
    // A derived start is an assumption about an instance of an older release.
    if (!isDerived || isSame) this.#ports.onReplay(isSame);
    if (isSame) return found;
    if (isDerived) throw await this.#notStored(at);
    const text = `the replay of cycle ${at.cycle} does not reach the next stored state; the state is not shown`;
    throw faultFor('replay_mismatch', text);
  }

  #unknown({ generation, cycle }: StatePosition): Fault {
    const { head } = this.#view;
    const text =
      generation === head.generation
        ? `the last cycle is ${this.#view.cycle}`
        : `the present generation is ${head.generation}`;
    return faultFor(
      'unknown_cycle',
      `there is no cycle ${cycle} in generation ${generation}: ${text}`,
    );
  }

  #trimmed({ generation, cycle }: StatePosition, floor: Floor): Fault {
    const isSame = generation === floor.generation;
    const where = isSame ? '' : ` of generation ${floor.generation}`;
    const text = `cycle ${cycle} of generation ${generation} is no longer stored; the first available cycle is ${floor.cycle}${where}`;
    return faultFor('cycle_trimmed', text, isSame ? { firstCycle: floor.cycle } : {});
  }

  async #notStored(at: StatePosition): Promise<Fault> {
    const { generation, cycle } = at;
    const next = await this.#after(at);
    const isPresent = generation === this.#view.head.generation;
    const present = isPresent ? this.#view.cycle : undefined;
    const firstCycle = next?.generation === generation ? next.cycle : present;
    const text =
      firstCycle === undefined
        ? 'no later cycle of this generation is available'
        : `the next available cycle is ${firstCycle}`;
    const what = `the state at cycle ${cycle} of generation ${generation} was not stored; ${text}`;
    return faultFor('state_not_stored', what, firstCycle === undefined ? {} : { firstCycle });
  }
}

/** Whether a replay from `start` can prove its states by reaching `end`. */
function isWithinReach(start: StateRow, end: StateRow): boolean {
  if (end.ordinal - start.ordinal > REPLAY_ROWS_MAX) return false;
  if (end.generation === start.generation) {
    return end.cause === 'model' || end.modelVersion === start.modelVersion;
  }
  const isReset = end.cause === 'initial' || end.cause === 'default';
  const isNext = end.generation === start.generation + 1 && end.cycle === 0;
  return isReset && isNext && end.modelVersion === start.modelVersion;
}

/** A state that advances by stored observations. */
class Replay {
  readonly #start: StateRow;
  #model: Model;
  #state: State;
  #ordinal: number;
  #cycle: number;
  #observedAtMs: number | undefined;

  constructor(start: StateRow, model: Model) {
    this.#start = start;
    this.#model = model;
    this.#state = unpackedState(start.state);
    this.#ordinal = start.ordinal;
    this.#cycle = start.cycle;
    this.#observedAtMs = start.observedAtMs;
  }

  /** Copy of the present position and state. */
  get row(): StateRow {
    return {
      ...this.#start,
      cause: 'spaced',
      ordinal: this.#ordinal,
      cycle: this.#cycle,
      observedAtMs: this.#observedAtMs,
      modelVersion: this.#model.version,
      state: packedState(this.#state),
    };
  }

  /** Migrates the state to another model. */
  takeOver(model: Model): void {
    const migrate = model.takesOver.get(this.#model.version);
    if (migrate === undefined) throw new CorruptState(`no migration to model ${model.version}`);
    this.#state = migrate(this.#state);
    this.#model = model;
  }

  /** Applies the next observation. Throws `CorruptState` if the row is not the next one. */
  observe(row: HistoryRow, instanceId: string): void {
    const { generation, originMs } = this.#start;
    if (row.generation !== generation || row.cycle !== this.#cycle + 1) {
      const text = `row ${row.ordinal} of ${instanceId} does not follow cycle ${this.#cycle}`;
      throw new CorruptState(text);
    }
    const dtSeconds = (row.timestampMs - (this.#observedAtMs ?? originMs)) / 1_000;
    this.#model.advance(this.#state, row, dtSeconds, this.#state);
    this.#ordinal = row.ordinal;
    this.#cycle = row.cycle;
    this.#observedAtMs = row.timestampMs;
  }

  /** Whether the state equals `end` bit for bit, after the reset that `end` may begin with. */
  leadsTo(end: StateRow): boolean {
    if (end.generation === this.#start.generation) return packedState(this.#state) === end.state;
    const { resetToInitial, resetToDefault } = this.#model;
    const reset = end.cause === 'initial' ? resetToInitial : resetToDefault;
    return packedState(reset(this.#state)) === end.state;
  }
}

/** Model in which an instance was created. `end` is its first known state, in model `ofEnd`. */
function firstModelOf(ofEnd: Model, end: StateRow, models: Models): Model | undefined {
  if (end.cause !== 'model') return ofEnd;
  const [version = '', ...others] = ofEnd.takesOver.keys();
  return others.length === 0 ? models.find(version) : undefined;
}

/** Model of a packed state, by its length. Undefined if no model, or more than one, has it. */
function modelOfState(models: Models, state: string): Model | undefined {
  const { length } = unpackedState(state);
  const all = models.versions.flatMap((version) => models.find(version) ?? []);
  const [only, ...others] = all.filter(({ stateLength }) => stateLength === length);
  return others.length === 0 ? only : undefined;
}

/**
 * At most `points` cycles in even steps: the cycle of `first`, cycles with a stored state after it,
 * and `lastCycle`.
 */
function pointsFrom(first: StateRow, lastCycle: number, points: number): Set<number> {
  const firstSpaced =
    (Math.floor(first.ordinal / STATE_SPACING) + 1) * STATE_SPACING - first.ordinal + first.cycle;
  const spaced = Math.max(0, Math.floor((lastCycle - firstSpaced) / STATE_SPACING) + 1);
  const cycleAt = (index: number): number => {
    if (index === 0) return first.cycle;
    return index > spaced ? lastCycle : firstSpaced + (index - 1) * STATE_SPACING;
  };
  const isLastApart = cycleAt(spaced) < lastCycle;
  const last = isLastApart ? spaced + 1 : spaced;
  const steps = Math.min(points, last + 1) - 1;
  if (steps === 0) return new Set([cycleAt(last)]);
  const indexes = Array.from({ length: steps + 1 }, (_, step) => Math.round((step * last) / steps));
  return new Set(indexes.map(cycleAt));
}
