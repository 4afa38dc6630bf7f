import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { dial, type RawConnection, requestText } from '#test/support/calls/raw-http';
import { createInstance, observationAt, openScene } from '#test/support/calls/scene';
import { metricValues } from '#test/support/metric-values';

const { service, caller, close } = await openScene();
const auth = `Authorization: Bearer ${caller.key}`;
const metric = async (name: string) => (await metricValues(service)).get(name) ?? 0;
const residentBytes = () => metric('process_resident_memory_bytes');
const slowEnded = () => metric('edge_slow_readers_ended_total{cause="slow"}');

/** Number of large pages that each connection requests. */
const PAGES = 60;
/** Number of connections that do not read. */
const CONNECTIONS = 8;

/**
 * Maximum growth of the process, in bytes. Without back-pressure, the pages would take 500 MB. On a
 * busy machine, garbage is collected late.
 */
const GROWTH_BYTES_MAX = 250 * 1_024 * 1_024;

/** Rate of a slow but steady reader. */
const STEADY_BYTES_PER_SECOND = 60 * 1_024;
/** Duration of steady reading. At this rate, the reader's kernel accepts new data every 17 s. */
const STEADY_MS = 32_000;

const id = await createInstance(caller);
const page = requestText('GET', `/v1/instances/${id}/history?limit=1000`, [auth]);

/** Stores 1,000 observations with the largest contexts. */
async function fillHistory(): Promise<void> {
  const filler = 'x'.repeat(8_000);
  for (let start = 0; start < 1_000; start += 25) {
    const observations = Array.from({ length: 25 }, (_, index) =>
      observationAt(start + index, { context: { filler } }),
    );
    const path = `/instances/${id}/process/batch`;
    assert.is((await caller.send('POST', path, { json: { observations } })).status, 200);
  }
}

/** Opens a connection that reads nothing until the test resumes its socket. */
async function dialDeaf(): Promise<RawConnection> {
  const connection = await dial(service);
  connection.socket.removeAllListeners('data').pause();
  return connection;
}

const deaf = suite('connections that request large pages and read nothing');

deaf.before(fillHistory);

deaf('use little memory, and are ended after some seconds', async () => {
  const before = await residentBytes();
  const endedBefore = await slowEnded();
  const connections = await Promise.all(Array.from({ length: CONNECTIONS }, dialDeaf));
  for (const { socket } of connections) socket.write(page.repeat(PAGES));
  let grown = 0;
  let waited = 0;
  while ((await slowEnded()) < endedBefore + CONNECTIONS) {
    grown = Math.max(grown, (await residentBytes()) - before);
    waited = Math.max(waited, await metric('edge_pipelined_requests'));
    assert.is((await caller.send('GET', `/instances/${id}`)).status, 200);
    await sleep(200);
  }
  assert.ok(grown < GROWTH_BYTES_MAX, `grown by ${(grown / 1_048_576).toFixed(0)} MiB`);
  assert.ok(waited > 0, 'pipelined requests must have waited');
  assert.is(await metric('edge_pipelined_requests'), 0);
  for (const connection of connections) connection.socket.destroy();
});

const slow = suite('a connection that reads slowly');

/** Requests pages and reads the answers at a rate, for at most `forMs`. Returns the bytes read. */
async function readAt(bytesPerSecond: number, pages: number, forMs: number): Promise<number> {
  const { socket } = await dialDeaf();
  let bytes = 0;
  socket.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    socket.pause();
    setTimeout(() => socket.resume(), (chunk.length * 1_000) / bytesPerSecond);
  });
  socket.resume();
  const target = `/v1/instances/${id}/history?limit=1000`;
  socket.write(page.repeat(pages - 1) + requestText('GET', target, [auth, 'Connection: close']));
  const timer = setTimeout(() => socket.destroy(), forMs);
  await once(socket, 'close');
  clearTimeout(timer);
  return bytes;
}

slow('but above the minimum rate is served completely', async () => {
  const before = await slowEnded();
  const bytes = await readAt(1_024 * 1_024, 12, 60_000);
  assert.ok(bytes > 12 * 1_000_000, `${bytes}`);
  assert.is(await slowEnded(), before);
});

slow('is served while its kernel accepts a megabyte three times a minute', async () => {
  const before = await slowEnded();
  const bytes = await readAt(STEADY_BYTES_PER_SECOND, 12, STEADY_MS);
  assert.is(await slowEnded(), before);
  assert.ok(bytes > (STEADY_BYTES_PER_SECOND * STEADY_MS) / 2_000, `${bytes}`);
});

slow.after(close);

for (const each of [deaf, slow]) each.run();
