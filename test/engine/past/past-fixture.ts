import { type PastCommand, PastReads } from '#engine/past-reads';
import { Fault } from '#errors/fault';
import type { EngineAnswer } from '#grpc/engine-messages';
import { MODELS } from '#identity/model';
import type { Clock } from '#stdlib/clock';
import { memoryInstanceStore } from '#storage/memory/instances';
import type { InstanceStore } from '#storage/ports/instances';
import { createMetrics } from '#telemetry/metrics';
import {
  ANCHORED,
  bodyOf,
  callOf,
  INSTANCE_ID,
  type InstanceScene,
  observed,
  START_MS,
} from '#test/engine/instance/instance-fixture';
import type { SeededRandom } from '#test/simulation/seeded-random';
import { refusalOf } from '#test/support/settled';

/** The refusal of a call. */
export async function faultOf(call: () => unknown): Promise<Fault> {
  const refusal = await refusalOf(call);
  if (refusal instanceof Fault) return refusal;
  throw refusal;
}

/** Reads of past states on a scene. On its manual clock, no slice ever ends. */
export function pastReadsOf(scene: InstanceScene, clock: Clock = scene.clock) {
  const { store, host } = scene;
  const instanceId = INSTANCE_ID;
  const metrics = createMetrics();
  const reads = new PastReads({ store, models: MODELS, clock, metrics });
  const ask = (command: PastCommand): Promise<EngineAnswer> => {
    const call = callOf(command, { instanceId });
    return reads.answer(call, command, async () => {
      const { past } = await host.ask(instanceId, call);
      if (past === undefined) throw new Error('the instance sent no view');
      return past;
    });
  };
  const at = (cycles: readonly number[], generation?: number) =>
    ask({ kind: 'readStates', generation, cycles, points: 0 });
  return {
    metrics,
    ask,
    /** States at cycles, as the answers to their observations had them. */
    texts: async (cycles: readonly number[], generation?: number): Promise<string[]> =>
      bodyOf(await at(cycles, generation)).data.states.map(textOf),
    points: async (points: number, generation?: number) =>
      bodyOf(await ask({ kind: 'readStates', generation, cycles: [], points })).data.states,
    refusal: (cycle: number, generation?: number) => faultOf(() => at([cycle], generation)),
  };
}

/** One call of a life: observations, a reset, or a change of the model. */
export type Step =
  | { readonly kind: 'observe'; readonly count: number; readonly modelVersion?: string }
  | { readonly kind: 'reset'; readonly mode: 'initial' | 'default' };

/** A store that drops past states while `isOld`, like an engine of an older release. */
export function storeOfReleases() {
  const memory = memoryInstanceStore();
  const release = { isOld: true };
  const store: InstanceStore = {
    ...memory,
    checkpoint: (checkpoints) =>
      memory.checkpoint(
        checkpoints.map((one) => (release.isOld ? { ...one, states: undefined } : one)),
      ),
  };
  return { store, release };
}

/** Snapshot, contract and drift of a state, as JSON. */
export function textOf({ snapshot, contract, drift }: Record<string, unknown>): string {
  return JSON.stringify({ snapshot, contract, drift });
}

/** States as answered, by generation and cycle. */
export type Lived = Map<number, string[]>;

export const observe = (count: number, modelVersion?: string): Step =>
  modelVersion === undefined
    ? { kind: 'observe', count }
    : { kind: 'observe', count, modelVersion };
export const reset = (mode: 'initial' | 'default'): Step => ({ kind: 'reset', mode });

/** A life with resets of both modes, an empty generation, and a change from model 1.0 to 1.1. */
export const LIFE: readonly Step[] = [
  observe(300),
  reset('default'),
  observe(700),
  reset('initial'),
  reset('default'),
  observe(40),
  observe(500, '1.1'),
  reset('default'),
  observe(260),
];

/** Maximum interval between two observations, in milliseconds. */
const STEP_MS_MAX = 600_000;

/**
 * Creates the default instance with model 1.0, unless `lived` continues, runs steps, and records each cycle's
 * answer.
 */
export async function live(
  scene: InstanceScene,
  steps: readonly Step[],
  random: SeededRandom,
  lived: Lived = new Map(),
): Promise<Lived> {
  if (lived.size === 0) {
    await scene.ask(ANCHORED, { modelVersion: '1.0' });
    lived.set(1, []);
  }
  let generation = lived.size;
  const seen = [...lived.values()].reduce((sum, states) => sum + states.length, 0);
  let atMs = START_MS + seen * STEP_MS_MAX;
  for (const step of steps) {
    if (step.kind === 'reset') {
      scene.jump(1_000);
      await scene.ask({ kind: 'reset', mode: step.mode });
      generation += 1;
      lived.set(generation, []);
      continue;
    }
    for (let left = step.count; left > 0; left -= 100) {
      const some = Array.from({ length: Math.min(left, 100) }, () => {
        atMs += random.whole(1_000, STEP_MS_MAX);
        return observation(random, atMs);
      });
      const command = { ...observed(...some), isBatch: true, isEveryStateWanted: true };
      const { modelVersion } = step;
      const answer = await scene.ask(command, modelVersion === undefined ? {} : { modelVersion });
      lived.get(generation)?.push(...bodyOf(answer).data.states.map(textOf));
    }
  }
  return lived;
}

function observation(random: SeededRandom, timestampMs: number) {
  const mode = random.whole(0, 6);
  const signal = random.happens(0.3) ? 1 : random.unit();
  return { mode, signal, confidence: random.unit(), timestampMs, contextJson: '{}' };
}
