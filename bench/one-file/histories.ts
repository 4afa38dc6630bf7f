import { applyEvent } from '#engine/instance/apply';
import type { InstanceChange, TimedObservation } from '#engine/instance/event';
import { CHUNK_BOUNDS, cutChunks } from '#engine/instance/rows';
import {
  headOf,
  type InstanceState,
  instanceFrom,
  type ModelPorts,
  StepTimer,
} from '#engine/instance/state';
import { MODELS } from '#identity/model';
import { PERSONA_PROFILES } from '#identity/persona-profiles';
import { systemClock } from '#stdlib/clock';
import { type Chunk, NO_ROWS, type PackedHead, packedHead } from '#storage/ports/instances';
import { DRIFT_EVENTS } from '#storage/ports/rows';

/** Time between two observations of an instance, in ms. */
const STEP_MS = 60_000;

/** Age of the instances at the start of the run, in ms. */
const PAST_MS = 30 * 86_400_000;

/**
 * Interval of far-off signals. Every 20th signal is far from the agent's usual signal, as in the
 * closed-model runs (`bench/load/process.lua`).
 */
const FAR_OFF_EVERY = 20;

const PORTS: ModelPorts = { models: MODELS, steps: new StepTimer(systemClock, () => {}) };

/**
 * Observation counts of a hundred instances; the pattern repeats. Most instances have few
 * observations. Some have enough observations for chunks.
 */
const OBSERVATIONS_OF_A_HUNDRED = [
  ...new Array<number>(90).fill(4),
  ...new Array<number>(9).fill(40),
  280,
];

/** Stored state of an instance, as written by an engine. */
export type History = {
  /** Head after the creation, before the first observation. */
  readonly created: PackedHead;
  /** Head after all observations. Contains the newest rows. */
  readonly head: PackedHead;
  /** Chunks of older history rows. */
  readonly history: readonly Chunk[];
  /** Chunks of older drift events. */
  readonly drift: readonly Chunk[];
};

/** Number of observations of an instance; the average is ten. */
export function observationsOf(index: number): number {
  return OBSERVATIONS_OF_A_HUNDRED[index % OBSERVATIONS_OF_A_HUNDRED.length] ?? 0;
}

/**
 * Returns a function that computes the history of an instance from the instance number, with the
 * engine's code. Each instance is created as a persona, 30 days before `nowMs`. Instances with the
 * same persona and observation count share one history.
 */
export function histories(nowMs: number): (index: number) => History {
  const made = new Map<string, History>();
  return (index) => {
    const count = observationsOf(index);
    const persona = index % PERSONA_PROFILES.length;
    const name = `${persona} ${count}`;
    const history = made.get(name) ?? historyOf(persona, count, nowMs - PAST_MS);
    made.set(name, history);
    return history;
  };
}

function historyOf(persona: number, count: number, createdAtMs: number): History {
  const { strengths = [] } = PERSONA_PROFILES[persona] ?? {};
  const names = { accountId: '', name: '', description: '' };
  let state = applied(instanceFrom(undefined), 1, createdAtMs, {
    kind: 'created',
    ...names,
    modeStrengths: strengths,
    energyLevel: 1,
  });
  const created = packedHead(headOf(state));
  for (let i = 1; i <= count; i += 1) {
    const timestampMs = createdAtMs + i * STEP_MS;
    const observations = [observation(i, strengths, timestampMs)];
    const change = { kind: 'observed', observations, isBatch: false, isEveryStateWanted: false };
    state = applied(state, i + 1, timestampMs, change as InstanceChange);
  }
  const head = packedHead(headOf(state));
  const rows = state.unstored?.copy();
  const packedHistory = rows?.history ?? [];
  const packedDrift = rows?.drift.map(DRIFT_EVENTS.pack) ?? [];
  const historyChunks = cutChunks(NO_ROWS, packedHistory, head.historyCount, CHUNK_BOUNDS.history);
  const driftChunks = cutChunks(NO_ROWS, packedDrift, head.driftCount, CHUNK_BOUNDS.drift);
  return {
    created,
    head: { ...head, newestHistory: historyChunks.newest, newestDrift: driftChunks.newest },
    history: historyChunks.chunks,
    drift: driftChunks.chunks,
  };
}

function applied(
  state: InstanceState,
  version: number,
  atMs: number,
  change: InstanceChange,
): InstanceState {
  const modelVersion = MODELS.newest.version;
  const event = { modelVersion, change, atMs, answerKey: undefined };
  return applyEvent('inst_of_a_history', state, event, version, PORTS).state;
}

function observation(
  number: number,
  strengths: readonly number[],
  timestampMs: number,
): TimedObservation {
  const mode = number % strengths.length;
  const usual = strengths[mode] ?? 0;
  const isFarOff = number % FAR_OFF_EVERY === FAR_OFF_EVERY - 1;
  const signal = isFarOff ? 1 - usual : usual + ((number % 5) - 2) * 0.04;
  return {
    mode,
    signal: Number(Math.min(1, Math.max(0, signal)).toFixed(2)),
    confidence: (6 + (number % 4)) / 10,
    contextJson: `{"channel":"chat","turn":${number}}`,
    timestampMs,
  };
}
