import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { MissingServer } from '#deploy/local/install/missing-server';
import { KeptProcess } from '#deploy/local/processes/kept-process';
import { startServer } from '#deploy/local/servers/local-server';
import { claimFolder, runningServer, signalProcess } from '#deploy/local/servers/server-record';
import { refusalOf, turnOfEvents } from '#test/support/settled';

/** Timeout of a step on a busy machine, in ms. */
const PATIENCE_MS = 20_000;

/**
 * A supervised Node.js program, which is ready immediately. A program that calls `process.exit` is
 * never ready. Disposal stops the program.
 */
function keptProgram(program: string) {
  const folder = mkdtempSync(join(tmpdir(), 'identity-engine-kept-'));
  const ends: string[] = [];
  const open = () =>
    startServer(
      { folder, logFolder: folder },
      {
        name: 'program',
        program: process.execPath,
        args: ['-e', program],
        address: '',
        readyMsMax: PATIENCE_MS,
        ask: () => (program.includes('process.exit') ? Promise.reject() : Promise.resolve()),
      },
    );
  const kept = new KeptProcess({ name: 'program', folder, open, onEnd: (how) => ends.push(how) });
  return {
    kept,
    ends,
    folder,
    [Symbol.asyncDispose]: async () => {
      await kept.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function until(isSo: () => boolean): Promise<void> {
  const deadlineMs = performance.now() + PATIENCE_MS;
  while (!isSo()) {
    assert.ok(performance.now() < deadlineMs, 'the condition was not met in time');
    await turnOfEvents();
  }
}

const ENDLESS = 'setInterval(() => {}, 1000)';

const keeping = suite('a supervised process');

keeping('restarts two seconds after a kill', async () => {
  await using program = keptProgram(ENDLESS);
  const { kept } = program;
  await kept.start();
  const first = kept.record;
  assert.ok(first);
  signalProcess(first, 'SIGKILL');
  const killedMs = performance.now();
  await until(() => (kept.record?.pid ?? first.pid) !== first.pid);
  assert.ok(performance.now() - killedMs >= 1_990, `${performance.now() - killedMs} ms`);
  assert.is(kept.restarts, 1);
  assert.equal(program.ends, ['program ended with SIGKILL']);
});

keeping(
  'stays stopped after a stop, even during a restart delay, until the next start',
  async () => {
    await using program = keptProgram(ENDLESS);
    const { kept, folder } = program;
    await kept.start();
    const first = kept.record;
    assert.ok(first);
    await kept.stop();
    assert.is(runningServer(folder), undefined);
    assert.equal(program.ends, []);
    await kept.start();
    const second = kept.record;
    assert.ok(second);
    signalProcess(second, 'SIGKILL');
    await until(() => program.ends.length === 1);
    await kept.stop();
    assert.is(kept.record, undefined);
    assert.is(kept.restarts, 0);
  },
);

keeping('ends if stopped during its start', async () => {
  await using program = keptProgram(ENDLESS);
  const ready = program.kept.start();
  await program.kept.stop();
  assert.is(program.kept.record, undefined);
  await ready.catch(() => undefined);
});

keeping('fails with a reason if it is not ready after three starts', async () => {
  await using program = keptProgram(`console.log('no such thing'); process.exit(3)`);
  const { message } = await refusalOf(() => program.kept.start());
  assert.match(message, /^program ended while starting, with 3\n.*no such thing/);
  assert.is(program.kept.restarts, 2);
});

keeping('fails without a retry if its program is missing', async () => {
  const open = () => Promise.reject(new MissingServer('install it'));
  const nowhere = { name: 'program', folder: '/nowhere', onEnd: () => undefined };
  const kept = new KeptProcess({ ...nowhere, open });
  assert.instance(await refusalOf(() => kept.start()), MissingServer);
  await kept.stop();
});

keeping.run();

const claiming = suite('a folder that several processes claim at the same time');

claiming(
  'is given to one of them, and can be claimed again after that process has ended',
  async () => {
    await using program = keptProgram(ENDLESS);
    await program.kept.start();
    const { record } = program.kept;
    assert.ok(record);
    const folder = join(program.folder, 'claimed');
    mkdirSync(folder);
    const claims = Array.from({ length: 5 }, () => claimFolder(folder, record));
    assert.is((await Promise.all(claims)).filter(Boolean).length, 1);
    assert.not.ok(await claimFolder(folder, record));
    await program.kept.stop();
    assert.ok(await claimFolder(folder, record));
  },
);

claiming.run();
