import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { simulateSeed } from '#test/simulation/simulate-seed';

/** First seed to run; `simulation.test.ts` runs all lower seeds. */
const FIRST_SEED = 49;

/** Last seed to run. */
const LAST_SEED = 300;

/** Time in seconds after which the test starts no further seed. */
const SECONDS = 90;

/** Minimum seeds within `SECONDS`, even on a busy machine. */
const SEEDS_MIN = 40;

const many = suite('many simulated clusters');

many('keep every guarantee under all faults', async () => {
  const endMs = performance.now() + SECONDS * 1_000;
  let seed = FIRST_SEED;
  let acknowledged = 0;
  for (; seed <= LAST_SEED && performance.now() < endMs; seed += 1) {
    acknowledged += (await simulateSeed(seed)).acknowledged;
  }
  const seeds = seed - FIRST_SEED;
  console.log(`${seeds} seeds, ${acknowledged} calls acknowledged`);
  assert.ok(seeds >= SEEDS_MIN, `only ${seeds} of ${SEEDS_MIN} seeds in ${SECONDS} s`);
});

many.run();
