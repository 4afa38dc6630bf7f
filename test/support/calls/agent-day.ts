import { MODE_TARGETS } from '#identity/modes';
import { PERSONA_PROFILES } from '#identity/persona-profiles';

/** An event in an agent's day. */
export type Moment =
  | {
      readonly kind: 'observed';
      readonly mode_target: string;
      readonly signal_strength: number;
      readonly confidence: number;
      readonly context: object;
      /** Seconds since the start of the day. */
      readonly atS: number;
    }
  /** Repeats the last observation half a second later, like a loop that runs too fast. */
  | { readonly kind: 'hasty' }
  | { readonly kind: 'reset'; readonly mode: 'initial' | 'default' };

/** The agent's persona. */
export const AGENT = 'persona_guardian';

/** Interval, in observations, at which an observation is repeated too early. */
const HASTY_EVERY = 25;

const STRESS = 6;

/** Seeded random numbers (mulberry32): the day is equal in every run. */
function dice(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** Strengths of the agent's persona, in mode order. */
export function agentHome(): readonly number[] {
  const profile = PERSONA_PROFILES.find(({ id }) => id === AGENT);
  if (profile === undefined) throw new Error(`there is no persona ${AGENT}`);
  return profile.strengths;
}

/**
 * A day with about 450 observations: a typical morning, stress, recovery, a sustained shift, an
 * attack on the identity, a collapse, a night, and two resets, each followed by observations.
 */
export function agentDay(): Moment[] {
  const day = new Day();
  day.inCharacter(110);
  for (let i = 0; i < 8; i += 1) day.observe(STRESS, 0.95, 5);
  day.recover(45);
  for (let i = 0; i < 60; i += 1) day.observe(1, 0.9, 40);
  day.inCharacter(25);
  day.attack(50);
  day.recover(20);
  for (let i = 0; i < 25; i += 1) day.observe(STRESS, 1, 2);
  day.rest(8 * 3_600);
  day.inCharacter(40);
  day.moments.push({ kind: 'reset', mode: 'default' });
  day.inCharacter(40);
  day.moments.push({ kind: 'reset', mode: 'initial' });
  day.inCharacter(30);
  return day.moments;
}

class Day {
  readonly moments: Moment[] = [];
  readonly #random = dice(20_260_115);
  readonly #home = agentHome();
  #atS = 0;

  observe(mode: number, signal: number, gapS: number, confidence = 1): void {
    this.#atS += gapS;
    const mode_target = MODE_TARGETS[mode] ?? 'ORDER';
    const signal_strength = Math.round(Math.min(1, Math.max(0, signal)) * 1e4) / 1e4;
    const context = { turn: this.moments.length };
    const atS = Math.round(this.#atS * 1_000) / 1_000;
    const seen = { mode_target, signal_strength, confidence, context, atS };
    this.moments.push({ kind: 'observed', ...seen });
    if (this.moments.length % HASTY_EVERY === 0) this.moments.push({ kind: 'hasty' });
  }

  /** Observations near the persona's strengths, in any mode. */
  inCharacter(count: number): void {
    for (let i = 0; i < count; i += 1) {
      const mode = Math.floor(this.#random() * 7);
      const noise = (this.#random() + this.#random() - 1) * 0.3;
      const confidence = 0.6 + Math.round(this.#random() * 4) / 10;
      this.observe(mode, (this.#home[mode] ?? 0) + noise, 20 + this.#random() * 70, confidence);
    }
  }

  /** Observations about connection and rest. */
  recover(count: number): void {
    for (let i = 0; i < count; i += 1) {
      const mode = [4, 5, 2][i % 3] ?? 4;
      this.observe(mode, this.#home[mode] ?? 0, 60 + this.#random() * 120);
    }
  }

  /**
   * Observations opposite to the persona's strengths, with full confidence, in quick succession.
   */
  attack(count: number): void {
    for (let i = 0; i < count; i += 1) {
      const mode = i % 6;
      this.observe(mode, (this.#home[mode] ?? 0) > 0.5 ? 0 : 1, 10);
    }
  }

  rest(seconds: number): void {
    this.#atS += seconds;
  }
}
