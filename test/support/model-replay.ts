import * as assert from 'uvu/assert';
import {
  ACTIONS,
  COMMITMENTS,
  EXPRESSIVENESSES,
  RECOVERY_PATHS,
  RISKS,
  TEMPOS,
} from '#identity/contract';
import { DRIFT_LEVELS } from '#identity/drift';
import { MODELS } from '#identity/model';
import { MODE_KEYS, MODE_NAMES, MODE_TARGETS } from '#identity/modes';
import { PERSONA_PROFILES } from '#identity/persona-profiles';
import { COMPOSITES, type Ranking } from '#identity/ranking';
import { newReport, type Report } from '#identity/report';
import { ENERGY_DEFAULT, type InitialConfig, STRESS_STATES, type State } from '#identity/state';

/** Observation fields that the model needs. */
export type Seen = {
  readonly mode_target: string;
  readonly signal_strength: number;
  readonly confidence?: number;
};

/** Rounding to six decimals plus floating-point error. Source: model, notation. */
const ROUNDING = 5.001e-7;

/** Drift evidence threshold, ln 200. Source: model 2.6. */
const EVIDENCE_LIMIT = Math.log(200);

const REASONS = ['within_band', 'situational_departure', 'sustained_shift', 'identity_breach'];

/** Model of new instances. */
const { newest } = MODELS;

/**
 * Runs the pure model on a served instance's observations and times, and computes the expected
 * answers without HTTP, engine and serializer.
 */
export class ModelReplay {
  #state: State;
  #observedAtMs: number;
  readonly #report = newReport();

  /** `originMs`: time from which the first observation advances the model, usually the creation. */
  constructor(originMs: number, config: Partial<InitialConfig> = {}) {
    const { modeStrengths = new Array<number>(7).fill(0), energyLevel = ENERGY_DEFAULT } = config;
    this.#state = newest.create({ modeStrengths, energyLevel });
    this.#observedAtMs = originMs;
  }

  /** Runs one cycle. */
  observe(seen: Seen, atMs: number): void {
    const targets: readonly string[] = MODE_TARGETS;
    const mode = targets.indexOf(seen.mode_target);
    const observation = { mode, signal: seen.signal_strength, confidence: seen.confidence ?? 1 };
    const dtSeconds = Math.max(0, atMs - this.#observedAtMs) / 1_000;
    newest.advance(this.#state, observation, dtSeconds, this.#state);
    this.#observedAtMs = atMs;
  }

  /** Resets the model. `atMs` is a time on the server's clock. */
  reset(mode: 'initial' | 'default', atMs: number): void {
    const reset = mode === 'initial' ? newest.resetToInitial : newest.resetToDefault;
    this.#state = reset(this.#state);
    this.#observedAtMs = atMs;
  }

  /** The three objects expected in a process answer, unrounded and without the instance id. */
  expected() {
    newest.readReport(this.#state, this.#report);
    const { snapshot, contract, deviation } = this.#report;
    return {
      snapshot: snapshotOf(snapshot),
      contract: contractOf(contract, snapshot),
      drift: { level: DRIFT_LEVELS[deviation.level], deviation: deviationOf(deviation) },
    };
  }

  /** Lower-case mode keys in the last drift event. */
  affectedModes(): string[] {
    newest.readReport(this.#state, this.#report);
    return named(this.#report.deviation.affected, MODE_KEYS);
  }
}

/**
 * Asserts that a served value equals `expected`: numbers to six decimals, everything else exactly.
 * `actual` may also have the fields that are named in `ignored`.
 */
export function assertServed(
  actual: unknown,
  expected: unknown,
  ignored: readonly string[] = [],
  path = '',
): void {
  if (typeof expected === 'number' && typeof actual === 'number') {
    assert.ok(Math.abs(actual - expected) <= ROUNDING, `${path}: ${actual} instead of ${expected}`);
    return;
  }
  if (typeof expected !== 'object' || expected === null) {
    assert.is(actual, expected, `${path}: ${String(actual)} instead of ${String(expected)}`);
    return;
  }
  assert.ok(typeof actual === 'object' && actual !== null, path);
  const known = Object.keys(actual).filter((key) => !ignored.includes(key));
  assert.equal(known.toSorted(), Object.keys(expected).toSorted(), path);
  const served = new Map(Object.entries(actual));
  for (const [key, value] of Object.entries(expected)) {
    assertServed(served.get(key), value, ignored, `${path}.${key}`);
  }
}

const named = <Name extends string>({ items, count }: Ranking, names: readonly Name[]) =>
  [...items.subarray(0, count)].map((item) => names[item] ?? '?');

const byMode = (values: Float64Array) =>
  Object.fromEntries(MODE_KEYS.map((key, mode) => [key, values[mode]]));

function snapshotOf({ cycle, strengths, energy, stressLevel, stability }: Report['snapshot']) {
  return {
    cycle,
    mode_strengths: byMode(strengths),
    energy_level: energy,
    stress_state: STRESS_STATES[stressLevel],
    stability_index: stability,
  };
}

function contractOf(contract: Report['contract'], { energy, stressLevel }: Report['snapshot']) {
  const { tempo, risk, expressiveness, commitment } = contract.style;
  return {
    dominant_modes: named(contract.dominant, MODE_NAMES),
    suppressed_modes: named(contract.suppressed, MODE_NAMES),
    allowed_actions: named(contract.allowed, ACTIONS),
    forbidden_actions: named(contract.forbidden, ACTIONS),
    decision_style: {
      tempo: TEMPOS[tempo],
      risk: RISKS[risk],
      expressiveness: EXPRESSIVENESSES[expressiveness],
      commitment_threshold: COMMITMENTS[commitment],
    },
    energy_level: energy,
    stress_state: STRESS_STATES[stressLevel],
    recovery_profile: {
      preferred_path: RECOVERY_PATHS[contract.path],
      support_required: contract.isSupportRequired,
      cooldown_required: contract.isCooldownRequired,
    },
  };
}

function deviationOf(deviation: Report['deviation']) {
  const { evidenceMode, isEvidenceUp, departures, contributions } = deviation;
  const direction = isEvidenceUp ? 'up' : 'down';
  return {
    reason: REASONS[deviation.level],
    distance: deviation.distance,
    t2: deviation.bandStatistic,
    p_value: deviation.pValue,
    breach: deviation.breach,
    run: deviation.run,
    sustained: {
      statistic: deviation.evidence,
      limit: EVIDENCE_LIMIT,
      mode: MODE_KEYS[evidenceMode] ?? null,
      direction: evidenceMode < 0 ? null : direction,
    },
    modes: MODE_KEYS.map((mode, place) => ({
      mode,
      z: departures[place],
      contribution: contributions[place],
    })),
    nearest_persona: PERSONA_PROFILES[deviation.nearestPersona]?.id ?? null,
    composite: COMPOSITES[deviation.composite]?.key ?? null,
  };
}
