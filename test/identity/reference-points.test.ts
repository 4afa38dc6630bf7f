import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { readReferencePoints } from '#identity/model';
import { OFFSET, resetToDefault } from '#identity/state';
import { reachableState, vectorAt } from '#test/support/arbitrary-identity';

const references = suite('the reference points of a state');

const reported = (values: readonly number[]) =>
  values.map((value) => Math.min(1, Math.max(0, value)));

references('are the set-point and the modes that the reset `default` restores', () => {
  fc.assert(
    fc.property(reachableState, (state) => {
      const { setPoint, lastStable } = readReferencePoints(state);
      assert.equal(setPoint, reported(vectorAt(state, OFFSET.setPoint)));
      assert.equal(lastStable, reported(vectorAt(resetToDefault(state), OFFSET.tendency)));
    }),
  );
});

references.run();
