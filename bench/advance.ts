import { reportJson } from '#engine/json';
import { MODELS, type Model, type Observation } from '#identity/model';
import { MODE_COUNT } from '#identity/modes';
import { PERSONA_PROFILES } from '#identity/persona-profiles';
import { newReport } from '#identity/report';
import type { State } from '#identity/state';

/*
 * Benchmark of one cycle in three variants: the model alone, the model and the public answer, and
 * the model and the public answer as JSON bytes.
 * Run: node bench/advance.ts
 */

const INSTANCE_COUNT = 1_000;
const CYCLES_PER_ROUND = 100_000;
const WARM_UP_ROUNDS = 3;
const ROUNDS = 9;

/** Observations with their time steps, drawn before the measurement. */
type Step = Observation & { instance: number; dtSeconds: number };

/** Linear congruential generator: the same sequence in every run. */
function drawer(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

/**
 * Draws observations 20 to 60 s apart. Signals are near the home strength of the mode; every tenth
 * signal, on average, is uniform and causes surprise or stress.
 */
function drawSteps(homes: readonly (readonly number[])[]): Step[] {
  const draw = drawer(7);
  return Array.from({ length: CYCLES_PER_ROUND }, () => {
    const instance = Math.floor(draw() * INSTANCE_COUNT);
    const mode = Math.floor(draw() * MODE_COUNT);
    const home = homes[instance]?.[mode] ?? 0;
    const usual = home + (draw() + draw() + draw() - 1.5) * 0.4;
    const signal = draw() < 0.1 ? draw() : Math.min(1, Math.max(0, usual));
    const confidence = 0.5 + 0.5 * draw();
    return { instance, mode, signal, confidence, dtSeconds: 20 + 40 * draw() };
  });
}

/** Median microseconds per step over the rounds, after warm-up. */
function measure(steps: readonly Step[], run: (step: Step) => void): number {
  const rounds: number[] = [];
  for (let round = 0; round < WARM_UP_ROUNDS + ROUNDS; round++) {
    const start = process.hrtime.bigint();
    for (const step of steps) run(step);
    const microseconds = Number(process.hrtime.bigint() - start) / 1_000 / steps.length;
    if (round >= WARM_UP_ROUNDS) rounds.push(microseconds);
  }
  return rounds.sort((left, right) => left - right)[Math.floor(rounds.length / 2)] ?? Number.NaN;
}

const homes = Array.from({ length: INSTANCE_COUNT }, (_, instance) => {
  const profile = PERSONA_PROFILES[instance % (PERSONA_PROFILES.length + 1)];
  return profile === undefined ? new Array<number>(MODE_COUNT).fill(0) : [...profile.strengths];
});
const steps = drawSteps(homes);
const report = newReport();
const bytes = Buffer.alloc(8_192);

/** Times of a model, in microseconds per cycle, by the work measured. */
function timesOf(model: Model): Record<string, number> {
  const states = homes.map((modeStrengths) => model.create({ modeStrengths, energyLevel: 0.8 }));
  const cycle = (step: Step): State => {
    const state = states[step.instance] as State;
    model.advance(state, step, step.dtSeconds, state);
    return state;
  };
  return {
    advance: measure(steps, cycle),
    'advance + report': measure(steps, (step) => model.readReport(cycle(step), report)),
    'advance + report + JSON': measure(steps, (step) => {
      model.readReport(cycle(step), report);
      bytes.write(reportJson('inst_0123456789abcdef', report), 'latin1');
    }),
  };
}

console.log(
  `${INSTANCE_COUNT} instances, median of ${ROUNDS} rounds of ${CYCLES_PER_ROUND} cycles`,
);
for (const version of MODELS.versions) {
  console.log(`model ${version}, microseconds per cycle`);
  for (const [what, microseconds] of Object.entries(timesOf(MODELS.find(version) as Model))) {
    console.log(`  ${what.padEnd(26)}${microseconds.toFixed(2).padStart(6)}`);
  }
}
