import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { freePort } from '#deploy/local/servers/free-port';
import { ADMIN_TOKEN } from '#test/support/calls/admin-token';
import { metricValues } from '#test/support/metric-values';
import { testVariables } from '#test/support/process-run';
import { soon } from '#test/support/soon';

/** Standard streams that accept no output, in shell syntax. */
const STREAMS: Readonly<
  Record<string, { redirect: string; stdio: StdioOptions; lostMin: number }>
> = {
  'on a full disk': { redirect: '> /dev/full 2>&1', stdio: 'ignore', lostMin: 2 },
  'on closed pipes': { redirect: '', stdio: ['ignore', 'pipe', 'pipe'], lostMin: 2 },
  // Node.js opens /dev/null for a closed stream.
  'that are closed': { redirect: '>&- 2>&-', stdio: 'ignore', lostMin: 0 },
};

const logging = suite('a process with standard streams');

for (const [name, { redirect, stdio, lostMin }] of Object.entries(STREAMS)) {
  // Report 23: the greeting, or one line of the log, ended the process.
  logging(`${name} serves, counts lost lines, and stops cleanly`, async () => {
    const [metricsPort, adminPort] = [await freePort(), await freePort()];
    const command = `exec "$0" services/main.ts standalone ${redirect}`;
    const child = spawn('sh', ['-c', command, process.execPath], {
      env: {
        ...testVariables(),
        SERVICE_METRICS_PORT: `${metricsPort}`,
        SERVICE_ADMIN_PORT: `${adminPort}`,
      },
      stdio,
    });
    using _ = endedAtLast(child);
    const ended = once(child, 'exit');
    child.stdout?.destroy();
    child.stderr?.destroy();
    const metricsUrl = `http://127.0.0.1:${metricsPort}/metrics`;
    await soon('readiness', async () => {
      const answer = await fetch(new URL('/health/ready', metricsUrl)).catch(() => undefined);
      await answer?.text();
      assert.is(child.exitCode, null, 'the process has ended');
      return answer?.status === 200;
    });
    // Account administration is always logged.
    const made = await fetch(`http://127.0.0.1:${adminPort}/accounts`, {
      method: 'POST',
      headers: { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'test', plan: 'free' }),
    });
    assert.is(made.status, 200, await made.text());
    const lost = (await metricValues({ metricsUrl })).get('log_lines_lost_total') ?? 0;
    assert.ok(lost >= lostMin, `${lost} lines lost`);
    child.kill('SIGTERM');
    assert.equal(await ended, [0, null]);
  });
}

function endedAtLast(child: ChildProcess): Disposable {
  return { [Symbol.dispose]: () => void child.kill('SIGKILL') };
}

logging.run();
