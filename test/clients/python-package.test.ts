import * as assert from 'uvu/assert';
import { makeEnvironment, pythonLack, runPytest } from '#test/support/python';
import { suiteUnless } from '#test/support/real-servers';

/* The Python client as users install it: wheel and sdist, an empty environment, their type checkers. */

const lack = pythonLack();
const python = suiteUnless(lack)('the package of the Python client');

if (lack === undefined) {
  await makeEnvironment();
  const { outcomes, run } = await runPytest(['-m', 'packaging', 'tests/test_packaging.py']);
  python('has its tests found and run', () => assert.ok(outcomes.length >= 7, run.output));
  for (const { name, outcome, text } of outcomes) {
    python(name, () => assert.is(outcome, 'passed', text));
  }
} else {
  python('has its tests found and run', () => undefined);
}

python.run();
