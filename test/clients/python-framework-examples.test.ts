import { pythonSuite } from '#test/support/servers/python-suite';

/*
 * Runs the examples for frameworks and the README's code blocks for frameworks. Each program takes
 * several seconds of CPU time.
 */

const python = await pythonSuite({
  title: 'the examples of the Python adapters',
  args: ['tests/adapters/test_framework_examples.py'],
  testsMin: 12,
  needsService: true,
  environment: 'adapters',
});

python.run();
