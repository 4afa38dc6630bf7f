import { createServer } from 'node:net';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { freePort } from '#deploy/local/servers/free-port';

/** First port that Linux gives to clients. */
const CLIENT_PORTS = 32_768;

const ports = suite('a free port');

// The system gave one port twice, and two processes of a test then wanted it.
ports('is given once, although no server listens on it yet', async () => {
  const given: number[] = [];
  for (let n = 0; n < 50; n += 1) given.push(await freePort());
  assert.is(new Set(given).size, given.length);
  assert.ok(given.every((port) => port < CLIENT_PORTS));
});

ports('is not in use', async () => {
  const next = (await freePort()) + 1;
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(next, '127.0.0.1', resolve));
  try {
    assert.is.not(await freePort(), next);
  } finally {
    server.close();
  }
});

ports.run();
