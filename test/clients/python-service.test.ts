import { pythonSuite } from '#test/support/servers/python-suite';

/* Runs every call of the Python client against a real service. */

const python = await pythonSuite({
  title: 'the Python client with a real service',
  args: ['tests/test_service.py'],
  testsMin: 15,
  needsService: true,
});

python.run();
