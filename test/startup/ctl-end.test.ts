import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { runMain, testVariables } from '#test/support/process-run';

const ending = suite('main.ts ctl');

// Report 32: `ctl nodes` printed its error and never ended while a server hung.
ending('exits with 1 at its deadline if Cassandra connects but does not answer', async () => {
  const silent = createServer((socket) => {
    socket.resume().on('error', () => undefined);
  }).listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const { port } = silent.address() as AddressInfo;
  const run = runMain(['ctl', 'nodes', '--timeout', '1'], {
    SERVICE_STORAGE: 'cassandra',
    SERVICE_CASSANDRA_CONTACT_POINTS: `127.0.0.1:${port}`,
  });
  assert.is(await run.ended, 1);
  assert.match(run.stderr(), /^ctl: no progress for 1 s.*\n$/);
  silent.close();
});

// Report 32: output that could not be written ended `ctl` with a stack trace.
ending(
  'exits with 1 and one line if the disk is full, and without a line if the pipe is closed',
  async () => {
    const env = testVariables();
    const full = spawn(
      'sh',
      ['-c', `"${process.execPath}" services/main.ts ctl --help >/dev/full`],
      {
        env,
        stdio: ['ignore', 'ignore', 'pipe'],
      },
    );
    const said: string[] = [];
    full.stderr.on('data', (chunk: Buffer) => said.push(chunk.toString()));
    const [code] = await once(full, 'close');
    assert.is(code, 1);
    assert.match(said.join(''), /^ctl: cannot write the output: ENOSPC[^\n]*\n$/);
    const unread = spawn(process.execPath, ['services/main.ts', 'ctl', '--help'], {
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    unread.stdout.destroy();
    const words: string[] = [];
    unread.stderr.on('data', (chunk: Buffer) => words.push(chunk.toString()));
    await once(unread, 'close');
    assert.is(words.join(''), '');
  },
);

ending.run();
