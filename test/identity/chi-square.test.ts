import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { CORRELATION, CORRELATION_INVERSE, chiSquareTail, SIGMA, whiten } from '#identity/drift';
import { MODE_COUNT } from '#identity/modes';
import { squaredDistances } from '#identity/ranking';

/** Tail by the power series of the incomplete gamma function, independent of erfc. */
function tailBySeries(q: number): number {
  const half = q / 2;
  const gamma = (105 / 16) * Math.sqrt(Math.PI); // of 9/2
  let term = half ** 3.5 * (Math.exp(-half) / gamma);
  let sum = 0;
  for (let order = 1; order < 400; order++) {
    sum += term;
    term *= half / (3.5 + order);
  }
  return 1 - sum;
}

const tail = suite('the chi-square tail with seven degrees of freedom');

tail('equals its power series', () => {
  for (let q = 0; q <= 60; q += 0.25) {
    assert.ok(Math.abs(chiSquareTail(q) - tailBySeries(q)) < 1e-12, `at ${q}`);
  }
});

tail('matches the quantiles of the model', () => {
  assert.ok(Math.abs(chiSquareTail(14.0671) - 0.05) < 1e-6);
  assert.ok(Math.abs(chiSquareTail(6.3458) - 0.5) < 1e-5);
});

tail('is one at zero and zero at infinity', () => {
  assert.ok(chiSquareTail(0) > 1 - 1e-12 && chiSquareTail(0) <= 1);
  assert.is(chiSquareTail(5_000), 0);
  assert.ok(Number.isFinite(chiSquareTail(1e12)));
});

tail.run();

const prior = suite('the correlations of the modes');

prior('are symmetric and exactly inverted', () => {
  for (let row = 0; row < MODE_COUNT; row++) {
    for (let column = 0; column < MODE_COUNT; column++) {
      let cell = 0;
      for (let inner = 0; inner < MODE_COUNT; inner++) {
        const left = CORRELATION[row * MODE_COUNT + inner] ?? Number.NaN;
        cell += left * (CORRELATION_INVERSE[inner * MODE_COUNT + column] ?? Number.NaN);
      }
      assert.ok(Math.abs(cell - (row === column ? 1 : 0)) < 1e-12);
      assert.is(CORRELATION[row * MODE_COUNT + column], CORRELATION[column * MODE_COUNT + row]);
    }
  }
});

prior("whiten strengths so that Euclidean distance is the model's distance", () => {
  const origin = new Float64Array(MODE_COUNT);
  const strengths = Float64Array.of(0.2, 0.9, 0.4, 0.1, 0.7, 0.3, 0.6);
  whiten(strengths, origin, 0);
  let wanted = 0;
  for (let cell = 0; cell < MODE_COUNT ** 2; cell++) {
    const row = Math.floor(cell / MODE_COUNT);
    const column = cell % MODE_COUNT;
    const left = (strengths[row] ?? 0) / (SIGMA[row] ?? 0);
    const right = (strengths[column] ?? 0) / (SIGMA[column] ?? 0);
    wanted += left * right * (CORRELATION_INVERSE[cell] ?? 0);
  }
  const found = origin.reduce((sum, part) => sum + part * part, 0);
  assert.ok(Math.abs(found - wanted) < 1e-10);
  assert.is(squaredDistances(strengths).length, 12);
});

prior.run();
