import { pythonSuite } from '#test/support/python-suite';

/* Every call, every block of the README and every example of the Python client against a real service. */

const python = await pythonSuite({
  title: 'the Python client at a real service',
  args: ['tests/test_service.py', 'tests/test_readme.py', 'tests/test_examples.py'],
  testsMin: 30,
  needsService: true,
});

python.run();
