import { globSync } from 'node:fs';
import { relative } from 'node:path';
import * as assert from 'uvu/assert';
import { runTool } from '#test/support/servers/python';
import { pythonSuite } from '#test/support/servers/python-suite';

/* Tests the Python client's adapters with their frameworks, in an environment with the frameworks. */

const python = await pythonSuite({
  title: 'the Python adapters for frameworks',
  args: ['tests/adapters', '--ignore=tests/adapters/test_framework_examples.py'],
  testsMin: 370,
  needsService: false,
  environment: 'adapters',
});

/** Files that the type checker skips without the frameworks. */
const FILES = [
  'src/identity_engine/{_hiding_model,langchain,openai_agents,pydantic_ai}.py',
  'tests/adapters/*.py',
  'examples/*_agent.py',
];

python('passes mypy', async () => {
  const files = globSync(FILES.map((pattern) => `clients/python/${pattern}`));
  const args = files.map((file) => relative('clients/python', file));
  const { isOk, output } = await runTool('mypy', ['--no-error-summary', ...args], {}, 'adapters');
  assert.ok(args.length >= 15, `only ${args.length} files were found`);
  assert.ok(isOk, output);
});

python.run();
