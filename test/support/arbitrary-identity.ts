import fc from 'fast-check';
import { advance, type Observation } from '#identity/model';
import { MODE_COUNT, MODE_KEYS, MODE_TARGETS } from '#identity/modes';
import { PERSONA_PROFILES } from '#identity/persona-profiles';
import type { Ranking } from '#identity/ranking';
import { createState, ENERGY_DEFAULT, OFFSET, type State } from '#identity/state';

/** An observation, and the time since the previous observation. */
export type Step = { observation: Observation; dtSeconds: number };

/** Seven numbers at `offset` in `state`. */
export const vectorAt = (state: State, offset: number): number[] => [
  ...state.subarray(offset, offset + MODE_COUNT),
];

/** The number at `offset` in `state`. */
export const scalarAt = (state: State, offset: number): number => state[offset] ?? Number.NaN;

/** State one cycle after `from`, which is unchanged. */
export function advanced(from: State, observation: Observation, dtSeconds: number): State {
  const into = from.slice();
  advance(from, observation, dtSeconds, into);
  return into;
}

/** A number in [0, 1], often a bound, never subnormal. */
export const share = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: 0, max: 1_000_000 }).map((n) => n / 1e6) },
  { weight: 1, arbitrary: fc.constantFrom(0, 0.5, 1) },
);

/** Seconds between observations: a batch, a conversation, or days of silence. */
export const gapSeconds = fc.oneof(
  fc.constantFrom(0, 1, 5, 30),
  fc.integer({ min: 0, max: 3_600 }),
  fc.integer({ min: 0, max: 5 * 86_400 }),
);

export const observation: fc.Arbitrary<Observation> = fc.record({
  mode: fc.integer({ min: 0, max: MODE_COUNT - 1 }),
  signal: share,
  confidence: share,
});

/** Initial strengths: neutral, from a persona, or arbitrary. */
const home: fc.Arbitrary<readonly number[]> = fc.oneof(
  fc.constant(new Array<number>(MODE_COUNT).fill(0)),
  fc.constantFrom(...PERSONA_PROFILES.map(({ strengths }): readonly number[] => strengths)),
  fc.array(share, { minLength: MODE_COUNT, maxLength: MODE_COUNT }),
);

export const freshState: fc.Arbitrary<State> = fc
  .record({ modeStrengths: home, energyLevel: fc.oneof(fc.constant(ENERGY_DEFAULT), share) })
  .map(createState);

/** Step sequences: arbitrary, with extreme signals, or with extreme signals in one mode. */
const manySteps: fc.Arbitrary<Step[]> = fc
  .record({
    steps: fc.array(fc.record({ observation, dtSeconds: gapSeconds }), { maxLength: 40 }),
    temper: fc.constantFrom('mixed', 'hasty', 'obsessed'),
    mode: fc.integer({ min: 0, max: MODE_COUNT - 1 }),
  })
  .map(({ steps, temper, mode }) => {
    if (temper === 'mixed') return steps;
    return steps.map(({ observation: seen }) => {
      const hasty = { ...seen, signal: seen.signal < 0.5 ? 0 : 1, confidence: 1 };
      return { observation: temper === 'hasty' ? hasty : { ...hasty, mode }, dtSeconds: 1 };
    });
  });

/** A reachable state. */
export const reachableState: fc.Arbitrary<State> = fc
  .tuple(freshState, manySteps)
  .map(([state, steps]) => {
    for (const step of steps) advance(state, step.observation, step.dtSeconds, state);
    return state;
  });

/** Calls `holds` with random reachable states before and after a cycle. */
export function afterAnyCycle(
  holds: (after: State, before: State, seen: Observation, dtSeconds: number) => void,
  numRuns = 100,
): void {
  const cycle = fc.property(reachableState, observation, gapSeconds, (before, seen, dtSeconds) => {
    holds(advanced(before, seen, dtSeconds), before, seen, dtSeconds);
  });
  fc.assert(cycle, { numRuns });
}

/** An observation with full certainty by default. */
export const certainly = (mode: number, signal: number, confidence = 1): Observation => ({
  mode,
  signal,
  confidence,
});

/** Stored observation, in the format that golden data and interface use. */
export type StoredObservation = {
  mode_target: string;
  signal_strength: number;
  confidence: number;
  dt_seconds: number;
};

/** The step from a stored observation. */
export function stepOf(stored: StoredObservation): Step {
  const targets: readonly string[] = MODE_TARGETS;
  const mode = targets.indexOf(stored.mode_target);
  const { signal_strength: signal, confidence, dt_seconds: dtSeconds } = stored;
  return { observation: { mode, signal, confidence }, dtSeconds };
}

/** Strengths in mode order from an object by key; missing keys are 0. */
export const strengthsOf = (byKey: Record<string, number> = {}): number[] =>
  MODE_KEYS.map((key) => byKey[key] ?? 0);

/** State after `steps`, starting from a copy of `from`. */
export function lived(from: State, steps: readonly Step[]): State {
  const state = from.slice();
  for (const step of steps) advance(state, step.observation, step.dtSeconds, state);
  return state;
}

/** Whether the last cycle in `state` was rolled back. */
export const isRolledBack = (state: State): boolean => scalarAt(state, OFFSET.driftLevel) === 3;

/** Positions in a ranking, in its order. */
export const positionsIn = ({ items, count }: Ranking): number[] => [...items.subarray(0, count)];
