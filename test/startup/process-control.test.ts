import { existsSync, readFileSync, rmSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { readConfig } from '#config';
import { beginLog } from '#startup/process/dependencies';
import { createLogger } from '#telemetry/logger';
import { ProcessControl } from '#telemetry/process-control';
import { ManualClock } from '#test/support/manual-clock';
import { addressIn, runMain } from '#test/support/process-run';
import { refusalOf } from '#test/support/settled';
import { soon } from '#test/support/soon';
import { noteLogger, TEST_ORIGIN } from '#test/support/test-logger';

const control = suite('a running process');

// Report 38: Log level, profile and configuration needed a restart or the inspector.
control('shows its configuration in ctl and accepts another log level', async () => {
  const run = runMain(['engine'], {
    SERVICE_LOG_LEVEL: 'warn',
    SERVICE_CONTROL_PORT: '0',
    SERVICE_OTLP_HEADERS: 'a=hidden',
  });
  await run.says(/engine is ready/);
  const variables = { SERVICE_ADMIN_URL: addressIn(run, 'admin') };
  const shown = runMain(['ctl', 'process', 'show', '--json'], variables);
  assert.is(await shown.ended, 0, shown.stderr());
  const { role, log_level, configuration } = JSON.parse(shown.stdout());
  assert.equal([role, log_level], ['engine', 'warn']);
  assert.is(configuration.SERVICE_OTLP_HEADERS, '[redacted]');
  const changed = runMain(['ctl', 'process', 'log-level', 'debug'], variables);
  assert.is(await changed.ended, 0, changed.stderr());
  await run.says(/"before":"warn","level":"debug"/);
  const wrong = runMain(['ctl', 'process', 'log-level', 'loud'], variables);
  assert.is(await wrong.ended, 2);
  const accounts = runMain(['ctl', 'accounts', 'list'], variables);
  assert.is(await accounts.ended, 4);
  assert.match(accounts.stderr(), /no accounts: ask a limiter/);
  run.child.kill('SIGTERM');
  assert.is(await run.ended, 0, run.stderr());
});

control('writes one CPU profile at a time, which only its user can read', async () => {
  const clock = new ManualClock();
  const logger = createLogger('silent', TEST_ORIGIN);
  const own = new ProcessControl({ logger, clock, origin: TEST_ORIGIN, configuration: {} });
  const { file } = await own.profile(5, 'ada');
  try {
    assert.is(
      ((await refusalOf(() => own.profile(5, 'eve'))) as { code?: string }).code,
      'conflict',
    );
    await soon('the profile', () => {
      clock.advance(1_000);
      return existsSync(file) && readFileSync(file, 'utf8').endsWith('}');
    });
    assert.is(statSync(file).mode & 0o777, 0o600);
    assert.ok(Array.isArray(JSON.parse(readFileSync(file, 'utf8')).nodes));
  } finally {
    rmSync(dirname(file), { recursive: true });
  }
});

// Report 38: SIGUSR1 opened the inspector of a process in production.
control('logs and ignores SIGUSR1 in production', async () => {
  const lines: string[] = [];
  const before = process.listeners('SIGUSR1');
  const warned = process.listeners('warning');
  const production = { ...readConfig({}), SERVICE_ENVIRONMENT: 'production' } as const;
  beginLog(
    noteLogger((line) => void lines.push(line)),
    production,
  );
  process.removeAllListeners('warning');
  for (const listener of warned) process.on('warning', listener);
  // Without a listener, the signal would open the inspector of this process.
  process.kill(process.pid, 'SIGUSR1');
  await soon('the line', () => lines.some((line) => line.includes('SIGUSR1')));
  for (const listener of process.listeners('SIGUSR1')) {
    if (!before.includes(listener)) process.off('SIGUSR1', listener);
  }
  const { url } = await import('node:inspector');
  assert.is(url(), undefined);
});

control.run();
