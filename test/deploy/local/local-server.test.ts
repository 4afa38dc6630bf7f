import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { startCassandra } from '#deploy/local/servers/cassandra-server';
import { natsVersionAt } from '#deploy/local/servers/nats-answer';
import { startNats } from '#deploy/local/servers/nats-server';
import { runningServer, stopRecordedServer } from '#deploy/local/servers/server-record';
import { natsOrSkip } from '#test/support/servers/real-servers';
import { refusalOf, turnOfEvents } from '#test/support/settled';

/*
 * Tests the life cycle of a server with NATS, which starts in milliseconds. Cassandra uses the same
 * code.
 */

const { suite } = natsOrSkip();

/** Maximum time until a killed process disappears, in ms. */
const END_MS_MAX = 5_000;

/** Folders for a server. Disposal stops a running server and removes the folders. */
function newPlace() {
  const folder = mkdtempSync(join(tmpdir(), 'identity-engine-server-'));
  return {
    folder,
    logFolder: join(folder, 'logs'),
    [Symbol.asyncDispose]: async () => {
      await stopRecordedServer(folder);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Occupies a port until disposed. */
async function takenPort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return { port, [Symbol.dispose]: () => void server.close() };
}

/** Resolves when no server runs in the folder. A kill takes effect with a delay. */
async function untilGone(folder: string): Promise<void> {
  const deadlineMs = performance.now() + END_MS_MAX;
  while (runningServer(folder) !== undefined) {
    assert.ok(performance.now() < deadlineMs, 'the server still runs');
    await turnOfEvents();
  }
}

const owned = suite('a server owned by the caller');

owned('answers when ready, and ends when disposed', async () => {
  await using place = newPlace();
  let address = '';
  {
    await using nats = await startNats(place);
    ({ address } = nats);
    assert.match(await natsVersionAt(address), /^2\.\d+\.\d+/);
    assert.is(runningServer(place.folder)?.pid, nats.pid);
    assert.match(readFileSync(nats.logFile, 'utf8'), /Server is ready/);
  }
  assert.match((await refusalOf(() => natsVersionAt(address))).message, /ECONNREFUSED/);
  assert.is(runningServer(place.folder), undefined);
});

owned('reports the signal after a kill', async () => {
  await using place = newPlace();
  await using nats = await startNats(place);
  nats.signal('SIGKILL');
  assert.is(await nats.ended, 'SIGKILL');
});

owned('stops cleanly while paused', async () => {
  await using place = newPlace();
  await using nats = await startNats(place);
  nats.signal('SIGSTOP');
  await nats.stop();
  assert.is.not(await nats.ended, 'SIGKILL', 'the server did not stop cleanly');
  assert.is(runningServer(place.folder), undefined);
});

owned('refuses a second server in its folder', async () => {
  await using place = newPlace();
  await using nats = await startNats(place);
  assert.match(
    (await refusalOf(() => startNats(place))).message,
    new RegExp(`already runs in .*, as process ${nats.pid}$`),
  );
});

owned('ends with the process that started it, unless its lifetime is `own`', async () => {
  for (const lifetime of ['caller', 'own'] as const) {
    await using place = newPlace();
    const program = `
      import { startNats } from '#deploy/local/servers/nats-server';
      const place = ${JSON.stringify({ ...place, lifetime })};
      await startNats(place);
      process.exit(0);`;
    const { status, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', program]);
    assert.is(status, 0, stderr.toString());
    if (lifetime === 'caller') {
      await untilGone(place.folder);
      continue;
    }
    const left = runningServer(place.folder);
    assert.ok(left, 'the server ended with the process that started it');
    await natsVersionAt(left.address);
    await stopRecordedServer(place.folder);
    assert.match((await refusalOf(() => natsVersionAt(left.address))).message, /ECONNREFUSED/);
  }
});

owned.run();

const failing = suite('a server that cannot start');

for (const [name, start] of [
  ['NATS', startNats],
  ['Cassandra', startCassandra],
] as const) {
  failing(`because its port is taken names the port immediately (${name})`, async () => {
    await using place = newPlace();
    using other = await takenPort();
    const { message } = await refusalOf(() => start({ ...place, port: other.port }));
    assert.is(message, `${name}: port ${other.port} of 127.0.0.1 is taken`);
  });
}

failing.run();
