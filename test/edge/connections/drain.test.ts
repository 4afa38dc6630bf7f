import { once } from 'node:events';
import { createServer, get } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { setImmediate as nextImmediate, setTimeout as sleep } from 'node:timers/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { drainOf } from '#edge/listen/listener';
import { newCaller } from '#test/support/calls/caller';
import { dial, type RawConnection, requestText } from '#test/support/calls/raw-http';
import { startClocked } from '#test/support/servers/clocked-service';
import { stateOf } from '#test/support/settled';

const NOW_MS = Date.UTC(2026, 0, 15);

/** Limit of the drain, longer than a test needs: the drain must end before this limit. */
const DRAIN_MS = 5_000;

/** A closing edge with two open connections. */
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

/** Sends a request, expects a 200, and returns the answer's `Connection` header. */
async function served(connection: RawConnection, ask: string): Promise<string | null | undefined> {
  connection.write(ask);
  const answer = await connection.next();
  assert.is(answer?.status, 200);
  return answer?.headers.get('connection');
}

const draining = suite('an edge that is asked to stop');

draining('serves each open connection once more, closes the connection, and ends', async () => {
  const { kept, ask, closed } = await closingEdge(DRAIN_MS);
  for (const connection of kept) {
    assert.is(await served(connection, ask), 'close');
    await connection.ended();
  }
  const tookMs = await closed;
  assert.ok(tookMs < DRAIN_MS, `${tookMs} ms`);
});

draining('still serves a new connection', async () => {
  const { service, kept, ask, closed } = await closingEdge(DRAIN_MS);
  const late = await dial(service);
  assert.is(await served(late, ask), 'close');
  for (const connection of kept) connection.socket.destroy();
  await closed;
});

draining('waits for idle connections no longer than configured', async () => {
  const { kept, closed } = await closingEdge(400);
  for (const connection of kept) await connection.ended();
  const tookMs = await closed;
  assert.ok(tookMs >= 390 && tookMs < DRAIN_MS, `${tookMs} ms`);
});

/** Starts a plain HTTP server with a drain. */
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

const racing = suite('a connection that arrives while a server drains');

racing('is accepted even if it arrives just before the last check', async () => {
  using plain = await plainServer();
  const { drain, port } = plain;
  const left = drain.sendAway(DRAIN_MS);
  // Wait until shortly before the last check.
  await sleep(950);
  // The event loop then runs the check, a timer, before it accepts connections.
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

racing('is accepted even half a second after the previous connection', async () => {
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

racing('is closed if its first request does not arrive soon', async () => {
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
