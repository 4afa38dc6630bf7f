import { ACTIONS, type Action } from '#identity/contract';
import type { Model, Observation } from '#identity/model';
import { MODE_TARGETS, type ModeTarget } from '#identity/modes';
import { PERSONA_PROFILES } from '#identity/persona-profiles';
import type { State } from '#identity/state';
import { SeededRandom } from '#test/simulation/seeded-random';

/*
 * Agents at work: the twelve personas, each in three mixes of work. In every turn, the agent takes
 * one action or a tool fails, and the service observes the mode that the turn exercises.
 */

/** A kind of turn: an action, or a tool that failed. */
type Turn = Action | 'failure';

/** Mode that a turn exercises, and the signal strength of the observation. */
const EXERCISES: Readonly<Record<Turn, readonly [ModeTarget, number]>> = {
  explore: ['EXPLORATION', 0.75],
  question: ['PERCEPTION', 0.6],
  elaborate: ['EXPLORATION', 0.4],
  suggest: ['ASSERTION', 0.5],
  execute: ['ORDER', 0.7],
  pivot: ['EXPLORATION', 0.9],
  challenge: ['ASSERTION', 0.75],
  comfort: ['CONNECTION', 0.75],
  clarify: ['PERCEPTION', 0.7],
  stabilize: ['ORDER', 0.6],
  defer: ['CONNECTION', 0.5],
  withdraw: ['STRESS_RESPONSE', 0.6],
  failure: ['STRESS_RESPONSE', 0.5],
};

/** Turns per hundred in each mix of work. */
const MIXES: readonly Readonly<Partial<Record<Turn, number>>>[] = [
  // A coding agent.
  {
    ...{ execute: 40, clarify: 15, stabilize: 15, question: 10, explore: 8 },
    ...{ suggest: 5, failure: 5, pivot: 2 },
  },
  // A research agent.
  {
    ...{ explore: 25, question: 20, elaborate: 20, clarify: 10, suggest: 10 },
    ...{ pivot: 8, execute: 5, failure: 2 },
  },
  // A support agent.
  {
    ...{ comfort: 30, clarify: 20, question: 10, suggest: 10, defer: 10 },
    ...{ stabilize: 8, execute: 5, challenge: 4, failure: 3 },
  },
];

/** Pace and weight of the observations. */
export type Case = {
  readonly name: string;
  readonly gapSeconds: number;
  readonly confidence: number;
  /** Whether the observed strength is half way between the set-point and the turn's strength. */
  readonly isHalfWay: boolean;
};

/** Cases of the table: three intervals with full weight, and two with the recommended weights. */
export const CASES: readonly Case[] = [
  { name: '5 s apart, confidence 1', gapSeconds: 5, confidence: 1, isHalfWay: false },
  { name: '45 s apart, confidence 1', gapSeconds: 45, confidence: 1, isHalfWay: false },
  { name: '10 min apart, confidence 1', gapSeconds: 600, confidence: 1, isHalfWay: false },
  { name: '5 s, half way, confidence 0.3', gapSeconds: 5, confidence: 0.3, isHalfWay: true },
  { name: '45 s, half way, confidence 0.3', gapSeconds: 45, confidence: 0.3, isHalfWay: true },
];

/** Number of observations of one agent. */
const TURNS = 300;

/** Agents at work: every persona in every mix. */
export const AGENTS = PERSONA_PROFILES.flatMap((persona, index) =>
  MIXES.map((mix, number) => ({ persona, mix, seed: 1 + index * MIXES.length + number })),
);

/** One agent of the simulation. */
export type Agent = (typeof AGENTS)[number];

/** States of an agent: at the start, and after each observation. Each state is a new array. */
export function* workOf(
  model: Model,
  { persona, mix, seed }: Agent,
  { gapSeconds, confidence, isHalfWay }: Case,
): Generator<State> {
  const random = new SeededRandom(seed);
  let state = model.create({ modeStrengths: persona.strengths, energyLevel: 0.8 });
  yield state;
  for (let turn = 0; turn < TURNS; turn++) {
    const [target, strength] = EXERCISES[drawn(mix, random.between(0, 100))];
    const mode = MODE_TARGETS.indexOf(target);
    const setPoint = model.readReferencePoints(state).setPoint[mode] ?? 0;
    // Stress is always observed with its full strength.
    const isWhole = !isHalfWay || target === 'STRESS_RESPONSE';
    const signal = isWhole ? strength : setPoint + (strength - setPoint) / 2;
    const observation: Observation = { mode, signal, confidence };
    const next = new Float64Array(model.stateLength);
    model.advance(state, observation, gapSeconds, next);
    state = next;
    yield state;
  }
}

/** Turn of a mix at a share from 0 to 100. */
export function drawn(mix: Agent['mix'], share: number): Turn {
  let left = share;
  for (const [turn, percent] of Object.entries(mix)) {
    left -= percent;
    if (left < 0) return turn as Turn;
  }
  return ACTIONS[0];
}
