import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { testVariables } from '#test/support/process-run';
import { soon } from '#test/support/soon';

/** Runs a program as process 1 of a PID namespace, as in a container. Requires root. */
const AS_PROCESS_1 = ['--pid', '--fork', '--kill-child'];

const hasNamespace = spawnSync('unshare', [...AS_PROCESS_1, 'true']).status === 0;
if (!hasNamespace) console.log('skipped: only root can create a PID namespace');

/**
 * Module hook that reports when the executable has run its first lines and loads the main program.
 */
const HOOK = `import { registerHooks } from 'node:module';
import { writeSync } from 'node:fs';
registerHooks({ load(url, context, next) {
  if (url.endsWith('/startup/command.ts')) writeSync(2, 'loading\\n');
  return next(url, context);
} });`;

/** Sends a signal to process 1 while it loads. Returns the exit code, or the ending signal. */
async function endedWhileLoading(args: readonly string[], name: NodeJS.Signals) {
  const program = [process.execPath, 'services/main.ts', ...args];
  const child = spawn('unshare', [...AS_PROCESS_1, ...program], {
    env: {
      ...testVariables(),
      NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(HOOK)}`,
    },
  });
  using _ = { [Symbol.dispose]: () => void child.kill('SIGKILL') };
  const ended = once(child, 'exit');
  const out: string[] = [];
  child.stdout.on('data', (chunk: Buffer) => out.push(chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => out.push(chunk.toString()));
  await soon('the load', () => out.join('').includes('loading'), { everyMs: 5 });
  const children = readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8');
  process.kill(Number(children.trim()), name);
  await soon('the end', () => child.exitCode !== null || /ready|Usage|usage/.test(out.join('')));
  assert.not.match(out.join(''), /is ready/);
  const [code, signal] = await ended;
  return code ?? signal;
}

const start = suite('process 1 of a container');
const run = hasNamespace ? start : start.skip;

for (const name of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
  // Report 22: process 1 dropped a signal that came while it started, and kept serving.
  run(`exits with 0 if it gets ${name} during its start`, async () => {
    assert.is(await endedWhileLoading(['standalone'], name), 0);
  });
}

run('exits with 143 if it is a ctl command that gets SIGTERM during its start', async () => {
  assert.is(await endedWhileLoading(['ctl', 'nodes'], 'SIGTERM'), 128 + 15);
});

start.run();
