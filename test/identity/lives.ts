import { createHash } from 'node:crypto';
import { MODELS, type Model } from '#identity/model';
import { MODE_COUNT } from '#identity/modes';
import { PERSONA_PROFILES } from '#identity/persona-profiles';
import { newReport } from '#identity/report';
import type { State } from '#identity/state';
import { SeededRandom } from '#test/simulation/seeded-random';

/** Number of lives with recorded digests. */
export const LIVES = 100;

/** Observations of a life. */
const CYCLES = 5_000;

/** Cycle at which the model of a life changes. */
const CHANGE = CYCLES / 2;

/** Cycles between two reports in a digest. */
const REPORT_SPACING = 10;

/**
 * SHA-256 of a life: all its states, and some of its reports. An instance receives random
 * observations, with resets of both kinds and a change of the model.
 */
export function digestOfLife(life: number): string {
  const random = new SeededRandom(life + 1);
  const modeStrengths = random.happens(0.5)
    ? (PERSONA_PROFILES[life % PERSONA_PROFILES.length]?.strengths ?? [])
    : Array.from({ length: MODE_COUNT }, () => random.unit());
  let model = modelOf(MODELS.versions[0]);
  let state: State = model.create({ modeStrengths, energyLevel: random.unit() });
  const hash = createHash('sha256');
  const report = newReport();
  for (let cycle = 1; cycle <= CYCLES; cycle += 1) {
    if (cycle === CHANGE) {
      const newer = modelOf(MODELS.versions.at(-1));
      state = newer.takesOver.get(model.version)?.(state) ?? state;
      model = newer;
    }
    const mode = random.whole(0, MODE_COUNT - 1);
    const observation = { mode, signal: random.unit(), confidence: random.unit() };
    model.advance(state, observation, secondsFrom(random), state);
    if (random.happens(0.001)) state = model.resetToInitial(state);
    if (random.happens(0.001)) state = model.resetToDefault(state);
    hash.update(new Uint8Array(state.buffer));
    if (cycle % REPORT_SPACING > 0) continue;
    model.readReport(state, report);
    hash.update(JSON.stringify(report));
  }
  return hash.digest('hex');
}

/** Time between two observations: mostly seconds, sometimes days. */
function secondsFrom(random: SeededRandom): number {
  const share = random.unit();
  const [second, fourth] = [share * share, share * share * share * share];
  return 1_000_000 * second * fourth * fourth;
}

function modelOf(version: string | undefined): Model {
  const model = MODELS.find(version ?? '');
  if (model === undefined) throw new Error(`there is no model ${version}`);
  return model;
}
