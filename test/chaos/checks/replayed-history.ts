import { resetAnswer } from '#engine/instance/answers';
import { reportJson } from '#engine/json';
import { MODELS } from '#identity/model';
import { MODE_COUNT } from '#identity/modes';
import { newReport } from '#identity/report';
import { OFFSET, type State } from '#identity/state';
import type { DriftRow, HistoryRow } from '#storage/ports/instances';
import type { StoredInstance } from '#test/chaos/checks/stored-instance';
import { bodyHashOf, type Call } from '#test/chaos/load/call-log';

const report = newReport();

/** Model of all instances in a chaos run. */
const { newest } = MODELS;

type DriftSeen = Pick<DriftRow, 'generation' | 'cycle' | 'level' | 'isRolledBack'>;

/** A stored history, and the calls that the replay must explain. */
export type ReplayBasis = {
  readonly stored: StoredInstance;
  /** Undefined if no create call is known. The replay then starts from values in the head. */
  readonly create: Extract<Call['requested'], { kind: 'create' }> | undefined;
  /** Calls by observation mark. */
  readonly calls: ReadonlyMap<string, Call>;
  /** Acknowledged resets in version order. */
  readonly resets: readonly Call[];
  /** Resets with unknown outcome. */
  readonly unknownResets: readonly Call[];
};

/**
 * Replays a stored history through the model. Returns undefined if the replay gives every answered
 * state, the stored drift events and exactly the stored model; otherwise returns the problem. Tries
 * every combination of resets with unknown outcome. The first interval of every generation is 0,
 * because the load sends timestamps from before the creation of the instance.
 */
export function replayProblem(basis: ReplayBasis): string | undefined {
  const { stored, create } = basis;
  const { head } = stored;
  if (head === undefined) return 'no head is stored';
  const config = create ?? {
    modeStrengths: [...head.model.subarray(OFFSET.home, OFFSET.home + MODE_COUNT)],
    energyLevel: head.model[OFFSET.initialEnergy] ?? 0,
  };
  const generations = Array.from({ length: head.generation }, (_, index) =>
    stored.history.filter(({ generation }) => generation === index + 1),
  );
  const replay = new Replay(basis, generations, head.model);
  return replay.from(newest.create(config), 0, 0, [...basis.unknownResets], []);
}

class Replay {
  readonly #basis: ReplayBasis;
  readonly #generations: readonly (readonly HistoryRow[])[];
  readonly #end: State;
  /** Problem of the attempt that reached the highest generation. */
  #furthest = { generation: -1, problem: 'no history is stored' };

  constructor(basis: ReplayBasis, generations: readonly (readonly HistoryRow[])[], end: State) {
    this.#basis = basis;
    this.#generations = generations;
    this.#end = end;
  }

  /**
   * Replays the history from a generation on, with every combination of resets. Returns undefined
   * if a combination matches; otherwise the problem of the attempt that got furthest.
   */
  from(
    start: State,
    generation: number,
    applied: number,
    unknown: readonly Call[],
    driftBefore: readonly DriftSeen[],
  ): string | undefined {
    const state = start.slice();
    const drift = [...driftBefore];
    const problem = this.#run(state, generation, drift);
    if (problem !== undefined) return this.#failed(generation, problem);
    const { resets, stored } = this.#basis;
    if (generation + 1 === this.#generations.length) {
      if (applied < resets.length)
        return this.#failed(generation, `acknowledged reset ${resets[applied]?.id} is lost`);
      if (!isSame(state, this.#end)) {
        return this.#failed(generation, 'replaying the history does not give the stored state');
      }
      const difference = driftProblem(drift, stored.drift);
      return difference === undefined ? undefined : this.#failed(generation, difference);
    }
    const next = resets[applied];
    if (next !== undefined && this.#isAnswered(next, state)) {
      const after = resetBy(next, state);
      if (this.from(after, generation + 1, applied + 1, unknown, drift) === undefined)
        return undefined;
    }
    for (const [place, reset] of unknown.entries()) {
      const left = unknown.toSpliced(place, 1);
      const after = resetBy(reset, state);
      if (this.from(after, generation + 1, applied, left, drift) === undefined) return undefined;
    }
    return this.#failed(generation, `no reset leads to generation ${generation + 2}`);
  }

  #failed(generation: number, problem: string): string {
    if (generation >= this.#furthest.generation) this.#furthest = { generation, problem };
    return this.#furthest.problem;
  }

  /** Whether the answer to a reset matches its resulting state. */
  #isAnswered(call: Call, state: State): boolean {
    const { stored } = this.#basis;
    if (call.requested.kind !== 'reset' || stored.head === undefined) return false;
    if (call.outcome.kind !== 'acknowledged') return true;
    const head = { ...stored.head, model: resetBy(call, state) };
    const { body } = resetAnswer(stored.id, head, call.requested.mode, MODELS);
    return bodyHashOf(body) === call.outcome.bodyHash;
  }

  /** Replays the rows of one generation, call by call. */
  #run(state: State, generation: number, drift: DriftSeen[]): string | undefined {
    const { stored, calls } = this.#basis;
    let beforeMs: number | undefined;
    let states: string[] = [];
    const rows = this.#generations[generation] ?? [];
    for (const [place, row] of rows.entries()) {
      const { mode, signal, confidence, timestampMs } = row;
      const dtSeconds = (timestampMs - (beforeMs ?? timestampMs)) / 1_000;
      newest.advance(state, { mode, signal, confidence }, dtSeconds, state);
      beforeMs = timestampMs;
      newest.readReport(state, report);
      const { cycle } = report.snapshot;
      if (cycle !== row.cycle)
        return `row ${row.ordinal} has cycle ${row.cycle}; expected ${cycle}`;
      const { level, isRolledBack } = report.deviation;
      if (level > 0) {
        drift.push({ generation: generation + 1, cycle, level: `D${level}`, isRolledBack });
      }
      const call = calls.get(markIn(row));
      states.push(reportJson(stored.id, report));
      const next = rows[place + 1];
      const isLast = next === undefined || calls.get(markIn(next)) !== call;
      if (!isLast && call !== undefined) continue;
      const problem = call === undefined ? undefined : answerProblem(call, states);
      if (problem !== undefined) return problem;
      states = [];
    }
    return undefined;
  }
}

/** Observation mark in the context of a row; empty if the context has no mark. */
export function markIn({ contextJson }: HistoryRow): string {
  const { mark } = JSON.parse(contextJson);
  return typeof mark === 'string' ? mark : '';
}

function answerProblem(
  { id, requested, outcome }: Call,
  states: readonly string[],
): string | undefined {
  if (requested.kind !== 'process' || outcome.kind !== 'acknowledged') return undefined;
  const last = states.at(-1) ?? '';
  const shown = requested.isEveryStateWanted
    ? `{"states":[${states.join(',')}]`
    : last.slice(0, -1);
  const results =
    requested.hasItemKeys === true ? `,"results":[${appliedItems(states.length)}]` : '';
  const json = requested.isBatch ? `${shown},"processed_count":${states.length}${results}}` : last;
  if (bodyHashOf(`{"data":${json}}`) === outcome.bodyHash) return undefined;
  return `call ${id} was answered with another state than its row in the history gives`;
}

function resetBy({ requested }: Call, state: State): State {
  return requested.kind === 'reset' && requested.mode === 'initial'
    ? newest.resetToInitial(state)
    : newest.resetToDefault(state);
}

function driftProblem(seen: readonly DriftSeen[], stored: readonly DriftRow[]): string | undefined {
  if (seen.length !== stored.length) {
    return `${stored.length} drift events are stored, but the history has ${seen.length}`;
  }
  const wrong = stored.find((row, place) => {
    const event = seen[place];
    return (
      row.ordinal !== place + 1 ||
      row.generation !== event?.generation ||
      row.cycle !== event.cycle ||
      row.level !== event.level ||
      row.isRolledBack !== event.isRolledBack
    );
  });
  return wrong === undefined ? undefined : `drift event ${wrong.ordinal} differs from the history`;
}

function isSame(one: State, other: State): boolean {
  return one.length === other.length && one.every((value, place) => Object.is(value, other[place]));
}

/** Item results in the answer to an applied batch of `count` observations, as JSON. */
function appliedItems(count: number): string {
  return Array.from(
    { length: count },
    (_, index) => `{"index":${index},"status":"applied"}`,
  ).join();
}
