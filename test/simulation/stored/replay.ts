import { MODELS } from '#identity/model';
import { newReport } from '#identity/report';
import { STRESS_STATES, type State } from '#identity/state';
import { type HistoryRow, type InstanceHead, unpackedState } from '#storage/ports/instances';
import { type Requested, vitalsText } from '#test/simulation/checks/history';

const report = newReport();

/** Model of all simulated instances. */
const { newest } = MODELS;

/** Mode of an applied reset; `either` if unknown. */
export type ResetMode = 'initial' | 'default' | 'either';

/** Answered state after an observation, by the observation's mark. */
export type AnsweredVitals = ReadonlyMap<string, string>;

/**
 * Whether replaying a stored history gives the stored state and reaches every answered state.
 * `resets` are the reset modes between generations; for an unknown mode, both modes are tried. The
 * first interval of every generation is 0, because callers send timestamps from before the creation
 * of the instance.
 */
export function isReplayed(
  create: Extract<Requested, { kind: 'create' }>,
  rows: readonly HistoryRow[],
  resets: readonly ResetMode[],
  head: InstanceHead,
  answered: AnsweredVitals,
): boolean {
  const generations = Array.from({ length: head.generation }, (_, index) =>
    rows.filter(({ generation }) => generation === index + 1),
  );
  const { floor } = head;
  const first = (floor?.generation ?? 1) - 1;
  const replay = (from: State, generation: number): boolean => {
    const state = from.slice();
    const beforeMs = generation === first ? floor?.timestampMs : undefined;
    if (!runs(state, generations[generation] ?? [], answered, beforeMs)) return false;
    if (generation + 1 === head.generation) return isSame(state, head.model);
    const mode = resets[generation] ?? 'either';
    if (mode !== 'default' && replay(newest.resetToInitial(state), generation + 1)) return true;
    return mode !== 'initial' && replay(newest.resetToDefault(state), generation + 1);
  };
  if (floor === undefined) return replay(newest.create(create), 0);
  // The floor has no start state if the mode of a reset before the floor is unknown.
  return floor.state === undefined || replay(unpackedState(floor.state), first);
}

/** Replays rows. Returns false if a state differs from the answered state. */
function runs(
  state: State,
  rows: readonly HistoryRow[],
  answered: AnsweredVitals,
  startMs: number | undefined,
): boolean {
  let beforeMs = startMs;
  for (const { mode, signal, confidence, timestampMs, contextJson } of rows) {
    const dtSeconds = (timestampMs - (beforeMs ?? timestampMs)) / 1_000;
    newest.advance(state, { mode, signal, confidence }, dtSeconds, state);
    beforeMs = timestampMs;
    const expected = answered.get(JSON.parse(contextJson).mark);
    if (expected !== undefined && expected !== vitalsIn(state)) return false;
  }
  return true;
}

/** Cycle, energy and stress state, formatted as in answers. */
function vitalsIn(state: State): string {
  newest.readReport(state, report);
  const { cycle, energy, stressLevel } = report.snapshot;
  return vitalsText(cycle, Math.round(energy * 1e6) / 1e6, STRESS_STATES[stressLevel] ?? '?');
}

function isSame(one: Float64Array, other: Float64Array): boolean {
  return one.length === other.length && one.every((value, place) => Object.is(value, other[place]));
}
