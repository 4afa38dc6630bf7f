import { pythonSuite } from '#test/support/python-suite';

/*
 * Every block of the README and every example of the Python client against a real service. Each of
 * them runs as a program of its own, which takes a second of processor time.
 */

const python = await pythonSuite({
  title: 'the documents of the Python client',
  args: ['tests/test_readme.py', 'tests/test_examples.py'],
  testsMin: 16,
  needsService: true,
});

python.run();
