import { once } from 'node:events';
import { createServer, get } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { setImmediate as nextImmediate, setTimeout as sleep } from 'node:timers/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { drainOf } from '#edge/listen/listener';
import { newCaller } from '#test/support/caller';
import { startClocked } from '#test/support/clocked-service';
import { dial, type RawConnection, requestText } from '#test/support/raw-http';
import { stateOf } from '#test/support/settled';

const NOW_MS = Date.UTC(2026, 0, 15);

/** Long enough for any of these tests, so that what ends earlier was not cut off. */
const DRAIN_MS = 5_000;

/** An edge with two kept connections, that begins to close. */
async function closingEdge(drainMs: number) {
  const { service } = await startClocked(NOW_MS, drainMs);
  const { key } = await newCaller(service);
  const ask = requestText('GET', '/v1/personas', [`Authorization: Bearer ${key}`]);
  const kept = [await dial(service), await dial(service)] as const;
  for (const connection of kept) await served(connection, ask);
  const startedMs = performance.now();
  const closed = service[Symbol.asyncDispose]().then(() => performance.now() - startedMs);
  return { service, kept, ask, closed };
}

/** What an answered request says of its connection. */
async function served(connection: RawConnection, ask: string): Promise<string | null | undefined> {
  connection.write(ask);
  const answer = await connection.next();
  assert.is(answer?.status, 200);
  return answer?.headers.get('connection');
}

const draining = suite('an edge that is asked to stop');

draining(
  'serves those it knows once more, closes behind the answer, and ends with them',
  async () => {
    const { kept, ask, closed } = await closingEdge(DRAIN_MS);
    for (const connection of kept) {
      assert.is(await served(connection, ask), 'close');
      await connection.ended();
    }
    const tookMs = await closed;
    assert.ok(tookMs < DRAIN_MS, `${tookMs} ms`);
  },
);

draining('still serves who connects meanwhile', async () => {
  const { service, kept, ask, closed } = await closingEdge(DRAIN_MS);
  const late = await dial(service);
  assert.is(await served(late, ask), 'close');
  for (const connection of kept) connection.socket.destroy();
  await closed;
});

draining('waits no longer than configured for those who say nothing', async () => {
  const { kept, closed } = await closingEdge(400);
  for (const connection of kept) await connection.ended();
  const tookMs = await closed;
  assert.ok(tookMs >= 390 && tookMs < DRAIN_MS, `${tookMs} ms`);
});

/** A plain server with a way out, and its port. */
async function plainServer() {
  const server = createServer((_request, response) => response.end('served'));
  const drain = drainOf(server);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const end = (): void => {
    server.close();
    server.closeAllConnections();
  };
  return { server, drain, port, [Symbol.dispose]: end };
}

const racing = suite('a connection that comes while a server looks for its last');

racing('is let in, although the look came first', async () => {
  using plain = await plainServer();
  const { drain, port } = plain;
  const left = drain.sendAway(DRAIN_MS);
  // Shortly before the last look.
  await sleep(950);
  // Behind this the event loop comes to the look, a timer, before it comes to the door.
  await nextImmediate();
  const answer = get({ port, host: '127.0.0.1', agent: false });
  process.nextTick(() => {
    const untilMs = performance.now() + 250;
    while (performance.now() < untilMs);
  });
  const [response] = await once(answer, 'response');
  assert.is(await stateOf(left), 'pending');
  assert.is(await text(response), 'served');
  await left;
});

racing('is let in, although none has come for half a second', async () => {
  using plain = await plainServer();
  const { drain, port } = plain;
  const left = drain.sendAway(DRAIN_MS);
  for (let calls = 0; calls < 3; calls += 1) {
    await sleep(500);
    assert.is(await stateOf(left), 'pending', `before call ${calls}`);
    const [response] = await once(get({ port, host: '127.0.0.1', agent: false }), 'response');
    assert.is(await text(response), 'served');
  }
  await left;
});

racing('has a moment for its first request, and no more', async () => {
  using plain = await plainServer();
  const { server, drain, port } = plain;
  const quick = connect(port, '127.0.0.1');
  await once(server, 'connection');
  const mute = connect(port, '127.0.0.1');
  await once(server, 'connection');
  const closed = once(server.close(), 'close');
  drain.end();
  quick.end('GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
  assert.match(await text(quick), /served$/);
  assert.is(await text(mute), '');
  await closed;
});

draining.run();
racing.run();
