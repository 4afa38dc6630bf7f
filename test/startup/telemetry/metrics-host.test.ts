import { readFileSync } from 'node:fs';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { addressIn, type ProcessRun, runMain } from '#test/support/process-run';

/** Another loopback address, on which a listener on 127.0.0.1 is not reachable. */
const ELSEWHERE = '127.0.0.2';

/** Host of the metrics address that a process has logged. */
const hostOf = (run: ProcessRun): string => new URL(addressIn(run, 'metrics')).hostname;

async function end(run: ProcessRun): Promise<void> {
  run.child.kill('SIGTERM');
  assert.is(await run.ended, 0, run.stderr());
}

const metrics = suite('the port for metrics and probes');

metrics('stays on loopback if the API listens elsewhere', async () => {
  const run = runMain(['engine'], { SERVICE_HOST: ELSEWHERE });
  await run.says(/ready/);
  assert.is(hostOf(run), '127.0.0.1');
  await end(run);
});

metrics('listens on SERVICE_METRICS_HOST', async () => {
  const run = runMain(['engine'], { SERVICE_METRICS_HOST: ELSEWHERE });
  await run.says(/ready/);
  assert.is(hostOf(run), ELSEWHERE);
  const answer = await fetch(addressIn(run, 'metrics'));
  assert.match(await answer.text(), /^nodejs_eventloop_utilization /m);
  await end(run);
});

metrics('listens on all addresses in the container image', () => {
  // Operators scrape and probe the image from outside the container.
  assert.match(readFileSync('deploy/Containerfile', 'utf8'), /SERVICE_METRICS_HOST=0\.0\.0\.0/);
});

metrics.run();
