import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { adminTokenFile } from '#test/support/calls/admin-token';
import { addressIn, type ProcessRun, runMain } from '#test/support/process-run';

/** Creates a temporary home folder. Disposal removes the folder. */
function ownHome() {
  const home = mkdtempSync(join(tmpdir(), 'identity-engine-home-'));
  return { home, [Symbol.dispose]: () => rmSync(home, { recursive: true }) };
}

/** Runs a process with this home folder and without a given token. */
function runAt(home: string, argv: readonly string[], more: Record<string, string> = {}) {
  // Keep this home folder free of caches.
  const own = { HOME: home, NODE_DISABLE_COMPILE_CACHE: '1' };
  return runMain(argv, { ...own, SERVICE_ADMIN_TOKEN_FILE: undefined, ...more });
}

async function end(run: ProcessRun): Promise<void> {
  run.child.kill('SIGTERM');
  assert.is(await run.ended, 0, run.stderr());
}

const tokens = suite('the admin port of a process');

tokens('accepts ctl of the same user, even with several admin ports on one machine', async () => {
  using own = ownHome();
  const services = [runAt(own.home, ['limiter']), runAt(own.home, ['limiter'])];
  for (const run of services) await run.says(/ready/);
  for (const run of services) {
    const url = { SERVICE_ADMIN_URL: addressIn(run, 'admin') };
    const ctl = runAt(own.home, ['ctl', 'accounts', 'create', 'acme'], url);
    assert.is(await ctl.ended, 0, ctl.stderr());
    assert.match(ctl.stdout(), /acme/);
  }
  for (const run of services) await end(run);
  const left = readdirSync(own.home, { recursive: true, withFileTypes: true });
  assert.equal(
    left.filter((entry) => entry.isFile()).map(({ name }) => name),
    [],
  );
});

tokens('refuses ctl of another user, with the next step', async () => {
  using own = ownHome();
  using other = ownHome();
  const run = runAt(own.home, ['limiter']);
  await run.says(/ready/);
  const url = { SERVICE_ADMIN_URL: addressIn(run, 'admin'), TMPDIR: other.home };
  const ctl = runAt(other.home, ['ctl', 'accounts', 'list'], url);
  assert.is(await ctl.ended, 1);
  assert.match(
    ctl.stderr(),
    /^ctl: the service at http:\S+ requires its token, but \S+ .*has no token: .*SERVICE_ADMIN_TOKEN_FILE\n$/,
  );
  await end(run);
});

tokens('requires the token of SERVICE_ADMIN_TOKEN_FILE', async () => {
  using own = ownHome();
  const run = runMain(['limiter']);
  await run.says(/ready/);
  const url = { SERVICE_ADMIN_URL: addressIn(run, 'admin') };
  const list = runMain(['ctl', 'accounts', 'list'], url);
  assert.is(await list.ended, 0, list.stderr());
  const file = join(own.home, 'token');
  writeFileSync(file, 'some other token of forty characters ....'.replaceAll(' ', '-'), {
    mode: 0o600,
  });
  const wrong = runMain(['ctl', 'accounts', 'list'], { ...url, SERVICE_ADMIN_TOKEN_FILE: file });
  assert.is(await wrong.ended, 1);
  assert.match(
    wrong.stderr(),
    /^ctl: the service at http:\S+ refuses the token: check that \S+ has [^\n]+\n$/,
  );
  await end(run);
});

tokens('does not open without the configured token file', async () => {
  const file = `${adminTokenFile()}.gone`;
  for (const part of ['limiter', 'standalone']) {
    const run = runMain([part], { SERVICE_ADMIN_TOKEN_FILE: file });
    assert.is(await run.ended, 1);
    assert.match(run.stderr(), /^configuration: SERVICE_ADMIN_TOKEN_FILE: \S+ cannot be read.*\n$/);
  }
});

tokens('logs every change at any log level', async () => {
  const run = runMain(['limiter'], { SERVICE_LOG_LEVEL: 'error' });
  await run.says(/ready/);
  const url = { SERVICE_ADMIN_URL: addressIn(run, 'admin') };
  const made = runMain(['ctl', 'accounts', 'create', 'acme', '--plan', 'pro'], url);
  assert.is(await made.ended, 0, made.stderr());
  await run.says(/account administration/);
  const line = JSON.parse(run.stderr());
  assert.equal(
    [line.role, line.change, line.outcome, line.requested],
    ['limiter', 'account.create', 'done', { name: 'acme', plan: 'pro' }],
  );
  assert.match(line.accountId, /^\w{12}$/);
  assert.match(line.time, /^\d{4}-\d\d-\d\dT/);
  assert.match(line.by.tokenId, /^[0-9a-f]{12}$/);
  assert.match(line.by.address, /^127\.0\.0\.1:\d+$/);
  await end(run);
});

tokens.run();
