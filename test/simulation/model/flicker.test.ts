import { readFileSync } from 'node:fs';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { MODEL_1_0, MODEL_1_1 } from '#identity/model';
import { flickerOf } from '#test/simulation/model/flicker';
import { contractPicture } from '#test/simulation/model/picture';
import { CASES } from '#test/simulation/model/work';

const flicker = suite('the contract of an agent at work under model 1.1');

for (const pace of CASES) {
  flicker(`changes at most half as often as under model 1.0, ${pace.name}`, () => {
    const first = flickerOf(MODEL_1_0, pace);
    const next = flickerOf(MODEL_1_1, pace);
    assert.ok(
      next.returned <= 0.005,
      `share of contracts that return after one observation: ${next.returned}`,
    );
    assert.ok(next.allowed <= first.allowed / 2, `${next.allowed} of ${first.allowed} allowed`);
    assert.ok(next.forbidden <= first.forbidden / 2, `${next.forbidden} of ${first.forbidden}`);
    assert.ok(next.order <= first.order / 4, `${next.order} of ${first.order} orders`);
    assert.is(next.levels, first.levels);
    // Model 1.0 must flicker here, or the comparison would prove nothing.
    assert.ok(first.allowed > 0.05 && first.returned > 0.01);
  });
}

flicker('is drawn in the picture of the documentation', () => {
  const drawn = readFileSync('docs/pictures/contract-flicker.svg', 'utf8');
  assert.is(drawn, contractPicture([MODEL_1_0, MODEL_1_1]));
});

flicker.run();
