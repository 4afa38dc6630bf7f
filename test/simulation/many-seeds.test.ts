import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { simulateSeed } from '#test/simulation/simulate-seed';

/** Seeds to try, as many as fit into `SECONDS`. The seeds below are in `simulation.test.ts`. */
const FIRST_SEED = 49;
const LAST_SEED = 300;
const SECONDS = 90;

/** Fewer seeds would prove little, even on a busy machine. */
const SEEDS_MIN = 40;

const many = suite('many simulated clusters');

many('keep every promise, whatever fails', async () => {
  const endMs = performance.now() + SECONDS * 1_000;
  let seed = FIRST_SEED;
  let acknowledged = 0;
  for (; seed <= LAST_SEED && performance.now() < endMs; seed += 1) {
    acknowledged += await simulateSeed(seed);
  }
  const seeds = seed - FIRST_SEED;
  console.log(`${seeds} seeds, ${acknowledged} calls acknowledged`);
  assert.ok(seeds >= SEEDS_MIN, `only ${seeds} seeds in ${SECONDS} s`);
});

many.run();
