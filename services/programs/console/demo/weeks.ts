/* Turns the stories of the demonstration into observations. */
import {
  type DemoAgent,
  type Happening,
  RESET_AFTER_DAYS,
  STORIES,
  TEAMS,
  TODAY,
} from '#console/demo/content';
import type { ObservationInput } from '#grpc/engine-messages';
import { STRESS_RESPONSE } from '#identity/modes';
import { PERSONA_PROFILES, personaIndexOf } from '#identity/persona-profiles';

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

/** Days of the past that a demonstration shows. */
const DAYS = TODAY + 1;

/** Observations of the usual work of a day. */
const OBSERVATIONS_PER_DAY = 4;

/** An observation with its time. */
export type TimedObservation = ObservationInput & { readonly timestampMs: number };

/** Week of an agent: observations, and the number of observations before a reset. */
export type Week = {
  readonly observations: readonly TimedObservation[];
  /** Undefined if the week has no reset. */
  readonly resetAfter: number | undefined;
};

/** Mode strengths in which an agent begins, in model order. */
export function strengthsOf({ persona }: Pick<DemoAgent, 'persona'>): readonly number[] {
  return PERSONA_PROFILES[personaIndexOf(persona)]?.strengths ?? [];
}

/**
 * Observations of an agent in the seven days before `endMs` (Unix milliseconds). Equal arguments
 * give equal weeks, so that an interrupted load continues where it ended.
 */
export function weekOf(agent: DemoAgent, endMs: number): Week {
  const chance = chanceFrom(agent.slug);
  const days = Array.from({ length: DAYS }, (_, day) => dayOf(agent, day, chance));
  const tasks = TEAMS[agent.team];
  const lastMs = endMs - Math.round((2 + 50 * chance()) * MINUTE_MS);
  const observations = days.flatMap((seen, day) => {
    const beginMs = lastMs - (TODAY - day) * DAY_MS - seen.length * PAUSE_MS;
    return seen.map(([mode, signal], index) => ({
      ...{ mode, signal: rounded(signal), confidence: rounded(0.8 + 0.2 * chance()) },
      contextJson: JSON.stringify({ task: tasks[Math.floor(chance() * tasks.length)] }),
      timestampMs: beginMs + index * PAUSE_MS,
    }));
  });
  const before = days.slice(0, RESET_AFTER_DAYS).reduce((sum, { length }) => sum + length, 0);
  return { observations, resetAfter: agent.story === 'reset' ? before : undefined };
}

/** Pause between two observations of a session, in milliseconds. */
const PAUSE_MS = 2 * MINUTE_MS;

/** A reading: mode and signal. */
type Reading = readonly [mode: number, signal: number];

/** Readings of one day; day 6 is today. */
function dayOf(agent: DemoAgent, day: number, chance: () => number): readonly Reading[] {
  const home = strengthsOf(agent);
  const usual = Array.from({ length: OBSERVATIONS_PER_DAY }, () => inCharacter(home, chance));
  const happenings: readonly Happening[] = STORIES[agent.story];
  const today = happenings.filter((happening) => happening.day === day);
  return [...usual, ...today.flatMap((happening) => readingsOf(happening, home, chance))];
}

/** A reading of one of the agent's three strongest modes, near its usual strength. */
function inCharacter(home: readonly number[], chance: () => number): Reading {
  const strongest = modesBy(home, (a, b) => b - a);
  const mode = strongest[Math.floor(chance() * 3)] ?? 0;
  return [mode, within((home[mode] ?? 0) + 0.12 * (chance() - 0.5))];
}

/** Modes except the stress response, sorted by their strength. */
function modesBy(home: readonly number[], order: (a: number, b: number) => number): number[] {
  const modes = [...home.keys()].filter((mode) => mode !== STRESS_RESPONSE);
  return modes.toSorted((a, b) => order(home[a] ?? 0, home[b] ?? 0));
}

/** Observation readings for an event in an agent's story. */
function readingsOf(
  happening: Happening,
  home: readonly number[],
  chance: () => number,
): readonly Reading[] {
  if ('pressure' in happening) {
    const { pressure, level } = happening;
    return Array.from({ length: pressure }, () => [
      STRESS_RESPONSE,
      within(level + 0.06 * (chance() - 0.5)),
    ]);
  }
  const { departure, times } = happening;
  const [weak, strong] = [modesBy(home, (a, b) => a - b), modesBy(home, (a, b) => b - a)];
  return Array.from({ length: departure * times }, (_, index) => {
    const place = index % departure;
    const isRise = place % 2 === 0;
    const mode = (isRise ? weak : strong)[Math.floor(place / 2)] ?? 0;
    return [mode, isRise ? 0.97 : 0.03];
  });
}

const within = (signal: number): number => Math.min(1, Math.max(0, signal));

const rounded = (value: number): number => Math.round(1_000 * value) / 1_000;

/** Pseudo-random numbers in [0, 1) from a text (FNV-1a, then a linear congruential generator). */
function chanceFrom(text: string): () => number {
  let state = 2_166_136_261;
  for (const char of text) state = Math.imul(state ^ char.charCodeAt(0), 16_777_619) >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** Number of cycles that a whole demonstration of these agents advances. */
export function cyclesOf(agents: readonly DemoAgent[]): number {
  return agents.reduce((sum, agent) => sum + weekOf(agent, 0).observations.length, 0);
}
