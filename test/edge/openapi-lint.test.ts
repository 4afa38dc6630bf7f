import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';

/** No network access: no usage report and no check for a newer version. */
const QUIET = { REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' };

const LINTER = fileURLToPath(import.meta.resolve('@redocly/cli/bin/cli.js'));
const LINT = [LINTER, 'lint', 'docs/openapi.json'];
const RULES = ['--extends=recommended', '--format=json'];

/** The linter's report, with the fields that the test uses. */
type Report = { readonly problems: { readonly ruleId: string; readonly message: string }[] };

const linted = suite('the committed API document, checked by Redocly’s linter');

linted('has no error and no warning under the recommended rules', async () => {
  const { PATH } = process.env;
  const env = { PATH, ...QUIET };
  const ran = promisify(execFile)(process.execPath, [...LINT, ...RULES], { env });
  // The linter exits with 1 when there are errors, and still reports them.
  const { stdout } = await ran.catch((error: { stdout: string }) => error);
  const { problems }: Report = JSON.parse(stdout);
  assert.equal(
    problems.map(({ ruleId, message }) => `${ruleId}: ${message}`),
    [],
  );
});

linted.run();
