import fc from 'fast-check';
import { MODEL_1_0, MODEL_1_1, modelsOf } from '#identity/model';
import { type InstanceScene, observed } from '#test/engine/instance/instance-fixture';

/** Models of a program that starts instances with model 1.0. */
export const FIRST_MODEL_FIRST = modelsOf([MODEL_1_0, MODEL_1_1], MODEL_1_0);

/** One event in the history of an instance. */
export type Step =
  | { readonly kind: 'wait'; readonly seconds: number }
  | { readonly kind: 'observe'; readonly mode: number; readonly signal: number }
  /** An observation after the account has chosen model 1.1. */
  | { readonly kind: 'observeByNewModel'; readonly mode: number; readonly signal: number }
  | { readonly kind: 'reset'; readonly mode: 'initial' | 'default' };

export const wait = (seconds: number): Step => ({ kind: 'wait', seconds });
export const observe = (mode: number, signal: number): Step => ({ kind: 'observe', mode, signal });
export const byNewModel = (mode: number, signal: number): Step => ({
  kind: 'observeByNewModel',
  mode,
  signal,
});
export const reset = (mode: 'initial' | 'default'): Step => ({ kind: 'reset', mode });

/** An identity outside equilibrium, so that every second changes the state. */
export const RESTLESS = { modeStrengths: [0.2, 0.4, 0.6, 0, 0.1, 0.3, 0.2], energyLevel: 0.5 };

/** Strong readings of one mode, which cause drift and no rollback point. */
export const upset = Array.from({ length: 12 }, () => [wait(20), observe(3, 1)]).flat();

/** Runs one step on the engine of a scene. */
export async function perform(scene: InstanceScene, step: Step): Promise<void> {
  switch (step.kind) {
    case 'wait':
      scene.clock.advance(step.seconds * 1_000);
      break;
    case 'observe':
      await scene.ask(observed(step));
      break;
    case 'observeByNewModel': {
      const { mode, signal } = step;
      await scene.ask(observed({ mode, signal }), { modelVersion: MODEL_1_1.version });
      break;
    }
    case 'reset':
      await scene.ask(step);
  }
}

/** Random steps; most are observations. */
export const anyStep: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.integer({ min: 1, max: 4_000 }).map(wait) },
  {
    weight: 8,
    arbitrary: fc
      .tuple(fc.integer({ min: 0, max: 6 }), fc.integer({ min: 0, max: 100 }))
      .map(([mode, percent]) => observe(mode, percent / 100)),
  },
  { weight: 1, arbitrary: fc.integer({ min: 0, max: 6 }).map((mode) => byNewModel(mode, 0.7)) },
  { weight: 1, arbitrary: fc.constantFrom('initial' as const, 'default' as const).map(reset) },
);
