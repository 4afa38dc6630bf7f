import { pythonSuite } from '#test/support/python-suite';

/* The wire cases that all client libraries share, through both clients of Python. */

const python = await pythonSuite({
  title: 'the Python client at the wire cases',
  args: ['tests/test_cases.py'],
  testsMin: 400,
  needsService: false,
});

python.run();
