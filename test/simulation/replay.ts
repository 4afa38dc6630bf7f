import { advance } from '#identity/advance';
import { newReport, readReport } from '#identity/report';
import { createState, resetToDefault, resetToInitial, type State } from '#identity/state';
import { STRESS_STATES } from '#identity/stress';
import { type HistoryRow, type InstanceHead, unpackedState } from '#storage/ports/instances';
import { type Requested, vitalsText } from '#test/simulation/history';

const report = newReport();

/** A reset that happened, or whose mode is not known. */
export type ResetMode = 'initial' | 'default' | 'either';

/** What callers were answered about the state after an observation, by its mark. */
export type AnsweredVitals = ReadonlyMap<string, string>;

/**
 * Whether a stored history, run through the model again, comes to the stored state, and passes
 * through every state that callers were answered. `resets` are the modes between the generations; where
 * one is not known both are tried. Callers' timestamps lie before any creation or reset, so that no
 * interval is counted from one.
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
    if (mode !== 'default' && replay(resetToInitial(state), generation + 1)) return true;
    return mode !== 'initial' && replay(resetToDefault(state), generation + 1);
  };
  if (floor === undefined) return replay(createState(create), 0);
  // Where resets of unknown mode lie before the floor it may have no state to start from.
  return floor.state === undefined || replay(unpackedState(floor.state), first);
}

/** Runs rows; false when a state on the way is not the one that was answered. */
function runs(
  state: State,
  rows: readonly HistoryRow[],
  answered: AnsweredVitals,
  startMs: number | undefined,
): boolean {
  let beforeMs = startMs;
  for (const { mode, signal, confidence, timestampMs, contextJson } of rows) {
    const dtSeconds = (timestampMs - (beforeMs ?? timestampMs)) / 1_000;
    advance(state, { mode, signal, confidence }, dtSeconds, state);
    beforeMs = timestampMs;
    const expected = answered.get(JSON.parse(contextJson).mark);
    if (expected !== undefined && expected !== vitalsIn(state)) return false;
  }
  return true;
}

/** Cycle, energy and stress state as answers show them. */
function vitalsIn(state: State): string {
  readReport(state, report);
  const { cycle, energy, stressLevel } = report.snapshot;
  return vitalsText(cycle, Math.round(energy * 1e6) / 1e6, STRESS_STATES[stressLevel] ?? '?');
}

function isSame(one: Float64Array, other: Float64Array): boolean {
  return one.length === other.length && one.every((value, place) => Object.is(value, other[place]));
}
