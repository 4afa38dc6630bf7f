import { pythonSuite } from '#test/support/servers/python-suite';

/*
 * Tests the Python client as installed by users: wheel and sdist, an empty environment, type
 * checkers.
 */

const python = await pythonSuite({
  title: 'the package of the Python client',
  args: ['tests/test_packaging.py'],
  testsMin: 10,
  needsService: true,
});

python.run();
