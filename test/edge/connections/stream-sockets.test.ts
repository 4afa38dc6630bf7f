import { once } from 'node:events';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { formatApiKey } from '#accounts/api-key';
import { buildApp } from '#edge/app';
import { type EngineCall, plainAnswer } from '#grpc/engine-messages';
import { systemClock } from '#stdlib/clock';
import { unchanging } from '#stdlib/files';
import { systemRandomness } from '#stdlib/randomness';
import { createLogger } from '#telemetry/logger';
import { createMetrics } from '#telemetry/metrics';
import { ALLOWANCE } from '#test/edge/admission/admission-fixture';
import { requestText } from '#test/support/calls/raw-http';
import { TEST_ORIGIN } from '#test/support/test-logger';

/** Bytes per engine answer. The engine always has further events. */
const PAGE_BYTES = 64 * 1_024;

/**
 * Maximum engine answers for a client that does not read. The kernels on both sides buffer 6 MiB,
 * which is about 100 answers.
 */
const ASKED_MAX = 400;

/** An edge on a real socket, whose engine has endless events. */
async function scene() {
  let asked = 0;
  const sockets: Socket[] = [];
  const app = buildApp(
    { clusterSecrets: unchanging(['x'.repeat(16)]), trustedProxies: [], drainMs: 0 },
    {
      engine: {
        async ask({ command }: EngineCall) {
          asked += 1;
          const ordinal = command.kind === 'readEvents' ? (command.after?.ordinal ?? 0) + 1 : 0;
          const cursor = { ordinal, drift: 0, generation: 1, version: 0 };
          const data = 'x'.repeat(PAGE_BYTES);
          return { ...plainAnswer(`id: ${ordinal}\nevent: cycle\ndata: ${data}\n\n`), cursor };
        },
      },
      limiter: { ask: () => ({ verdict: 'admitted', allowance: ALLOWANCE }) },
      clock: systemClock,
      randomness: systemRandomness,
      metrics: createMetrics(),
      logger: createLogger('silent', TEST_ORIGIN),
    },
  );
  app.server.on('connection', (socket) => sockets.push(socket));
  await app.listen({ port: 0, host: '127.0.0.1' });
  const { port } = app.server.address() as AddressInfo;
  const authorization = `Authorization: Bearer ${formatApiKey('Acc0unt00001', 's'.repeat(32))}`;
  const client = connect(port, '127.0.0.1');
  client.on('error', () => undefined);
  client.pause();
  client.write(requestText('GET', '/v1/instances/inst_00000000000000aa/events', [authorization]));
  return { app, client, sockets, askedTimes: () => asked };
}

/** Waits until a count has not changed for half a second. */
async function untilStill(count: () => number): Promise<void> {
  for (let before = -1; before !== count(); ) {
    before = count();
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}

const reading = suite('a client that does not read its stream');

reading('makes the edge request only the events that its connection can hold', async () => {
  const { app, client, sockets, askedTimes } = await scene();
  await untilStill(askedTimes);
  const asked = askedTimes();
  assert.ok(asked > 1 && asked < ASKED_MAX, `${asked} pages`);
  const [socket] = sockets;
  assert.ok((socket?.writableLength ?? 0) <= 2 * PAGE_BYTES, `${socket?.writableLength} bytes`);
  assert.is(socket?.timeout, 0, 'a silent stream must not time out');
  let taken = 0;
  client.on('data', (chunk) => {
    taken += chunk.length;
    if (taken > asked * PAGE_BYTES) client.pause();
  });
  client.resume();
  await untilStill(() => taken);
  assert.ok(askedTimes() > asked, 'the edge continues when the client reads');
  client.destroy();
  await app.close();
});

reading('does not delay the shutdown of the edge', async () => {
  const { app, client, askedTimes } = await scene();
  await untilStill(askedTimes);
  const startedMs = performance.now();
  await app.close();
  const tookMs = performance.now() - startedMs;
  assert.ok(tookMs < 3_000, `${tookMs} ms`);
  client.resume();
  if (!client.closed) await once(client, 'close');
});

reading.run();
