import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { readConfig } from '#config';
import { beginLog } from '#startup/process/dependencies';
import { runMain } from '#test/support/process-run';
import { noteLogger } from '#test/support/test-logger';

const SECRET = 'a secret that no line may show';

const lines = suite('the log of a process');

// Report 34: No line named release, node and configuration, and levels were numbers.
lines('starts with the release and the effective configuration, without secrets', async () => {
  const run = runMain(['limiter'], {
    SERVICE_NODE_NAME: 'limiter-7',
    SERVICE_CLUSTER_SECRET: SECRET,
    SERVICE_OTLP_HEADERS: 'authorization=Bearer hidden',
  });
  await run.says(/limiter is ready/);
  run.child.kill('SIGTERM');
  assert.is(await run.ended, 0);
  const [start, ready] = run.log();
  assert.equal([start?.level, start?.msg, ready?.msg], ['info', 'starting', 'ready']);
  assert.equal([start?.['node'], start?.['role']], ['limiter-7', 'limiter']);
  assert.match(String(start?.['release']), /^\d+\.\d+\.\d+/);
  const shown = start?.['configuration'] as Record<string, unknown>;
  assert.is(shown['SERVICE_CLUSTER_SECRET'], '[redacted]');
  assert.is(shown['SERVICE_OTLP_HEADERS'], '[redacted]');
  assert.is(shown['SERVICE_LOG_LEVEL'], 'info');
  const addresses = ready?.['addresses'] as Record<string, string>;
  assert.match(addresses['grpc'] ?? '', /^127\.0\.0\.1:\d+$/);
  assert.not.match(JSON.stringify(run.log()), /no line may show|Bearer hidden/);
});

// Report 34: A process that did not start wrote text between the JSON lines of a collector.
lines('is JSON in production, even if the process does not start', async () => {
  const run = runMain(['standalone'], { SERVICE_ENVIRONMENT: 'production' });
  assert.is(await run.ended, 1);
  const [line, ...others] = run.stderr().trimEnd().split('\n');
  assert.equal(others, []);
  const { level, role, why } = JSON.parse(line ?? '');
  assert.equal([level, role], ['fatal', 'standalone']);
  assert.match(why, /^configuration: SERVICE_ENVIRONMENT=production refuses this/);
});

// Report 34: Node.js printed warnings as text between JSON lines.
lines('has warnings of Node.js as JSON lines', () => {
  const before = process.listeners('warning');
  const noted: string[] = [];
  beginLog(
    noteLogger((line) => void noted.push(line)),
    readConfig({}),
  );
  process.emit('warning', new Error('too many listeners'));
  process.removeAllListeners('warning');
  for (const listener of before) process.on('warning', listener);
  assert.match(noted[1] ?? '', /^Node\.js warning warning=Error why=too many listeners/);
});

lines.run();
