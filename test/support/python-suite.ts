import type { Test } from 'uvu';
import * as assert from 'uvu/assert';
import { newCaller } from '#test/support/caller';
import { makeEnvironment, pythonLack, runPytest } from '#test/support/python';
import { suiteUnless } from '#test/support/real-servers';
import { startStandalone } from '#test/support/service';

/** What is run of the tests of the Python client. */
export type PythonTests = {
  readonly title: string;
  /** Arguments of pytest: files, and what else says which tests. */
  readonly args: readonly string[];
  /** Fewer would mean that pytest did not find them. */
  readonly testsMin: number;
  /** Whether the tests need a real service; its address and key are in their environment then. */
  readonly needsService: boolean;
};

/**
 * A suite in which every test of pytest counts as one. Where there is no Python it is skipped by name,
 * on CI it throws. The caller adds what else it has, and runs it.
 */
export async function pythonSuite(tests: PythonTests): Promise<Test> {
  const lack = pythonLack();
  const python = suiteUnless(lack)(tests.title);
  if (lack !== undefined) {
    python('has its tests found and run', () => undefined);
    return python;
  }
  await makeEnvironment();
  const { outcomes, run } = await runWith(tests);
  python('has its tests found and run', () => {
    assert.ok(outcomes.length >= tests.testsMin, `${outcomes.length} tests\n${run.output}`);
    assert.ok(run.isOk || outcomes.some(({ outcome }) => outcome === 'failed'), run.output);
  });
  for (const { name, outcome, text } of outcomes) {
    python(name, () => assert.is(outcome, 'passed', text));
  }
  return python;
}

async function runWith({ args, needsService }: PythonTests): ReturnType<typeof runPytest> {
  if (!needsService) return await runPytest(args);
  await using service = await startStandalone();
  const { key } = await newCaller(service);
  const env = { IDENTITY_ENGINE_BASE_URL: service.api, IDENTITY_ENGINE_API_KEY: key };
  return await runPytest(args, env);
}
