import * as assert from 'uvu/assert';
import { newCaller } from '#test/support/caller';
import { makeEnvironment, pythonLack, runPytest, runTool } from '#test/support/python';
import { suiteUnless } from '#test/support/real-servers';
import { startStandalone } from '#test/support/service';

/* The Python client with its own tools: every test of pytest counts as one here. */

/** Fewer would mean that pytest did not find them. */
const TESTS_MIN = 330;

const lack = pythonLack();
const python = suiteUnless(lack)('the Python client');

python('has an environment as its lock names it', makeEnvironment);

for (const [name, args] of [
  ['ruff', ['check']],
  ['ruff', ['format', '--check']],
  ['mypy', ['--no-error-summary']],
] as const) {
  python(`passes ${name} ${args.join(' ')}`, async () => {
    const { isOk, output } = await runTool(name, args);
    assert.ok(isOk, output);
  });
}

if (lack === undefined) {
  await makeEnvironment();
  await using service = await startStandalone();
  const { key } = await newCaller(service);
  const env = { IDENTITY_ENGINE_BASE_URL: service.api, IDENTITY_ENGINE_API_KEY: key };
  const { outcomes, run } = await runPytest(['-m', 'not packaging', 'tests'], env);
  python('has its tests found and run', () => {
    assert.ok(outcomes.length >= TESTS_MIN, run.output);
    assert.ok(run.isOk || outcomes.some(({ outcome }) => outcome === 'failed'), run.output);
  });
  for (const { name, outcome, text } of outcomes) {
    python(name, () => assert.is(outcome, 'passed', text));
  }
} else {
  python('has its tests found and run', () => undefined);
}

python.run();
