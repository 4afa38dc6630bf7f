import * as assert from 'uvu/assert';
import { runTool } from '#test/support/servers/python';
import { pythonSuite } from '#test/support/servers/python-suite';

/* Runs the Python client's tools, and its tests against a server with injected failures. */

const APART = ['cases', 'packaging', 'service', 'readme', 'examples'];

const python = await pythonSuite({
  title: 'the Python client',
  args: ['tests', ...APART.map((name) => `--ignore=tests/test_${name}.py`)],
  testsMin: 220,
  needsService: true,
});

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

python.run();
