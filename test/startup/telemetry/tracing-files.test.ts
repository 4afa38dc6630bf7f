import { mkdtempDisposableSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { runMain } from '#test/support/process-run';

/** A loopback port without a listener. */
const SERVICE_OTLP_ENDPOINT = 'https://127.0.0.1:9';

const PREFIX = 'OTEL_EXPORTER_OTLP';

const unreadable = suite('an unreadable certificate file for the collector');

for (const [what, paths, complaint] of [
  ['is missing', { CERTIFICATE: 'no.pem' }, 'CERTIFICATE: no.pem cannot be read (ENOENT)'],
  ['is a folder', { CLIENT_CERTIFICATE: 'test' }, 'CLIENT_CERTIFICATE: test is no file'],
  ['is for a key', { CLIENT_KEY: 'no.pem' }, 'CLIENT_KEY: no.pem cannot be read (ENOENT)'],
  [
    'has priority over a readable file',
    { CERTIFICATE: 'package.json', TRACES_CERTIFICATE: 'no.pem' },
    'TRACES_CERTIFICATE: no.pem cannot be read (ENOENT)',
  ],
] as const) {
  unreadable(`ends the start with a one-line error if it ${what}`, async () => {
    const named = Object.entries(paths).map(([name, path]) => [`${PREFIX}_${name}`, path]);
    const variables = Object.fromEntries(named);
    const run = runMain(['standalone'], { SERVICE_OTLP_ENDPOINT, ...variables });
    assert.is(await run.ended, 1);
    assert.is(run.stderr(), `configuration: ${PREFIX}_${complaint}\n`);
  });
}

/** Starts a process with these variables and stops it once ready. */
async function startsWith(variables: Record<string, string>): Promise<void> {
  const run = runMain(['standalone'], variables);
  await run.says(/Admin +http\S+ /);
  run.child.kill('SIGTERM');
  assert.is(await run.ended, 0);
}

unreadable('is ignored without a collector', async () => {
  await startsWith({ [`${PREFIX}_CERTIFICATE`]: 'no.pem' });
});

const readable = suite('certificate files for the collector');

readable('are used if readable, and a blank name means no file', async () => {
  using folder = mkdtempDisposableSync(join(tmpdir(), 'identity-engine-authority-'));
  const file = join(folder.path, 'ca.pem');
  writeFileSync(file, 'an authority');
  await startsWith({
    SERVICE_OTLP_ENDPOINT,
    [`${PREFIX}_CERTIFICATE`]: 'no.pem',
    [`${PREFIX}_TRACES_CERTIFICATE`]: file,
    [`${PREFIX}_CLIENT_KEY`]: ' ',
  });
});

for (const group of [unreadable, readable]) group.run();
