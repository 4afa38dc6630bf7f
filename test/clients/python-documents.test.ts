import { pythonSuite } from '#test/support/servers/python-suite';

/*
 * Runs the README's code blocks and the examples of the Python client against a real service. Each
 * program takes a second of CPU time.
 */

const python = await pythonSuite({
  title: 'the documents of the Python client',
  args: ['tests/test_readme.py', 'tests/test_examples.py'],
  testsMin: 16,
  needsService: true,
});

python.run();
