import type { Test } from 'uvu';
import * as assert from 'uvu/assert';
import { newCaller } from '#test/support/calls/caller';
import {
  makeEnvironment,
  type PythonEnvironment,
  pythonLack,
  runPytest,
} from '#test/support/servers/python';
import { suiteUnless } from '#test/support/servers/real-servers';
import { startStandalone } from '#test/support/servers/service';

/** Tests of the Python client to run. */
export type PythonTests = {
  readonly title: string;
  /** Arguments for pytest. */
  readonly args: readonly string[];
  /** Minimum number of tests. If there are fewer, pytest has not found all tests. */
  readonly testsMin: number;
  /** Whether the tests need a real service. Environment variables pass its address and a key. */
  readonly needsService: boolean;
  readonly environment?: PythonEnvironment;
};

/**
 * A suite with one test per pytest test. Without Python, the suite has one skipped test; on CI,
 * throws an error. The caller adds further tests and runs the suite.
 */
export async function pythonSuite(tests: PythonTests): Promise<Test> {
  const lack = pythonLack(tests.environment);
  const python = suiteUnless(lack)(tests.title);
  if (lack !== undefined) {
    python('finds and runs its tests', () => undefined);
    return python;
  }
  await makeEnvironment(tests.environment);
  const { outcomes, run } = await runWith(tests);
  python('finds and runs its tests', () => {
    assert.ok(outcomes.length >= tests.testsMin, `${outcomes.length} tests\n${run.output}`);
    assert.ok(run.isOk || outcomes.some(({ outcome }) => outcome === 'failed'), run.output);
  });
  for (const { name, outcome, text } of outcomes) {
    python(name, () => assert.is(outcome, 'passed', text));
  }
  return python;
}

async function runWith(tests: PythonTests): ReturnType<typeof runPytest> {
  const { args, needsService, environment } = tests;
  if (!needsService) return await runPytest(args, {}, environment);
  await using service = await startStandalone();
  const { key } = await newCaller(service);
  const env = { IDENTITY_ENGINE_BASE_URL: service.api, IDENTITY_ENGINE_API_KEY: key };
  return await runPytest(args, env, environment);
}
