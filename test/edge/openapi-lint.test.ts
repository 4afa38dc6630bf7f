import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';

/** Nothing leaves this machine: no usage report, no look for a newer version. */
const QUIET = { REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' };

const LINTER = fileURLToPath(import.meta.resolve('@redocly/cli/bin/cli.js'));
const LINT = [LINTER, 'lint', 'docs/openapi.json'];
const RULES = ['--extends=recommended', '--format=json'];

/** What a linter says of a document, as far as it matters here. */
type Report = { readonly problems: { readonly ruleId: string; readonly message: string }[] };

const linted = suite('the committed API document, read by Redocly’s linter');

linted('gives no error and no warning by the recommended rules', async () => {
  const { PATH } = process.env;
  const env = { PATH, ...QUIET };
  const ran = promisify(execFile)(process.execPath, [...LINT, ...RULES], { env });
  // It ends with 1 where there are errors, and reports them all the same.
  const { stdout } = await ran.catch((error: { stdout: string }) => error);
  const { problems }: Report = JSON.parse(stdout);
  assert.equal(
    problems.map(({ ruleId, message }) => `${ruleId}: ${message}`),
    [],
  );
});

linted.run();
