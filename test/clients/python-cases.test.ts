import { pythonSuite } from '#test/support/servers/python-suite';

/* Runs the wire cases of all client libraries through both Python clients. */

const python = await pythonSuite({
  title: 'the Python client with the wire cases',
  args: ['tests/test_cases.py'],
  testsMin: 400,
  needsService: false,
});

python.run();
