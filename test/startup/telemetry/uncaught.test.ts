import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { runMain } from '#test/support/process-run';

/** Preloaded modules with bugs that a signal triggers in a real process. */
const BUGS = {
  'an uncaught error': [
    'uncaughtException',
    `throw new TypeError('outer', { cause: new Error('inner of ${`svc_sk_${'a'.repeat(50)}`}') })`,
  ],
  'an unhandled rejection': [
    'unhandledRejection',
    "void Promise.reject(new TypeError('outer', { cause: new Error('inner of x') }))",
  ],
  'a rejection with no error': ['unhandledRejection', "void Promise.reject('outer')"],
} as const;

const uncaught = suite('a process with');

for (const [name, [origin, bug]] of Object.entries(BUGS)) {
  uncaught(`${name} logs one line and exits with 1`, async () => {
    const code = `process.on('SIGUSR2', () => { ${bug}; })`;
    const run = runMain(['standalone'], {
      NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(code)}`,
    });
    await run.says(/Ctrl-C/);
    run.child.kill('SIGUSR2');
    assert.is(await run.ended, 1);
    const lines = run.stderr().split('\n').filter(Boolean);
    assert.is(lines.length, 1, run.stderr());
    const line = JSON.parse(lines[0] ?? '');
    assert.equal(
      [line.level, line.role, line.origin, typeof line.msg],
      ['fatal', 'standalone', origin, 'string'],
    );
    assert.match(line.err.message, /outer/);
    assert.match(line.err.stack, /outer/);
    assert.not.match(run.stderr(), /svc_sk_/);
    if (name.includes('no error')) return;
    assert.is(line.err.type, 'TypeError');
    assert.match(line.err.stack, /\n +at /);
    assert.match(line.err.cause.message, /^inner of /);
    assert.match(line.err.cause.stack, /\n +at /);
  });
}

uncaught.run();
