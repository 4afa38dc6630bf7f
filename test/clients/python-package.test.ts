import { pythonSuite } from '#test/support/python-suite';

/* The Python client as users install it: wheel and sdist, an empty environment, their type checkers. */

const python = await pythonSuite({
  title: 'the package of the Python client',
  args: ['tests/test_packaging.py'],
  testsMin: 7,
  needsService: false,
});

python.run();
