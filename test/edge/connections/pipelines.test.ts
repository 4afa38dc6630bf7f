import { once } from 'node:events';
import { createServer, IncomingMessage, ServerResponse } from 'node:http';
import { type AddressInfo, connect, Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Pipelines } from '#edge/listen/slow-peers';

const BODY_BYTES = 32 * 1_024;

/** Maximum bytes to read ahead: more than one socket read plus the data in the parser. */
const READ_AHEAD_BYTES_MAX = 192 * 1_024;

/** A listener that delays its first answer until `letGo`, and records served body sizes. */
async function listenerUnderTest({ isReading = true } = {}) {
  const pipelines = new Pipelines();
  const bodies: number[] = [];
  const parts: number[] = [];
  const first = Promise.withResolvers<void>();
  const server = createServer((request, response) => {
    const isFirst = pipelines.note(request, response) === 1;
    pipelines.inTurn(request, response, async () => {
      let bytes = 0;
      let count = 0;
      const take = (chunk: Buffer): void => {
        bytes += chunk.length;
        count += 1;
      };
      if (isReading) request.on('data', take);
      if (isReading) await once(request, 'end');
      bodies.push(bytes);
      parts.push(count);
      if (isFirst) await first.promise;
      response.end('answered');
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  const [accepted] = (await once(server, 'connection')) as [Socket];
  let received = '';
  client.setEncoding('latin1').on('data', (text: string) => {
    received += text;
  });
  return {
    pipelines,
    bodies,
    parts,
    client,
    accepted,
    letGo: first.resolve,
    answers: () => received.split('answered').length - 1,
    [Symbol.dispose]: () => {
      client.destroy();
      server.close();
      server.closeAllConnections();
    },
  };
}

/** Fulfils when a positive value has stayed the same for 100 ms. */
async function untilConstant(value: () => number): Promise<number> {
  for (let last = -1; ; ) {
    const now = value();
    if (now === last && now > 0) return now;
    last = now;
    await pause(100);
  }
}

const GET = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n';
const post = (bytes: number) =>
  `POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ${bytes}\r\n\r\n${'x'.repeat(bytes)}`;
const CHUNKED = `POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n${`8000\r\n${'x'.repeat(BODY_BYTES)}\r\n`}0\r\n\r\n`;

const pipelined = suite('pipelined requests behind an unanswered request');

for (const [kind, request] of [
  ['of a given length', post(BODY_BYTES)],
  ['in chunks', CHUNKED],
] as const) {
  pipelined(`with bodies ${kind} wait after one socket read, and are served in order`, async () => {
    using scene = await listenerUnderTest();
    scene.client.write(GET + request.repeat(40));
    const read = await untilConstant(() => scene.accepted.bytesRead);
    assert.ok(read < READ_AHEAD_BYTES_MAX, `${read} bytes were read`);
    assert.is(scene.pipelines.holding, 1);
    scene.letGo();
    await untilConstant(() => (scene.answers() === 41 ? 41 : 0));
    assert.equal(scene.bodies, [0, ...new Array(40).fill(BODY_BYTES)]);
    assert.equal([scene.pipelines.waiting, scene.pipelines.holding], [0, 0]);
  });
}

pipelined('with a body in thousands of chunks keep the body as one buffer', async () => {
  using scene = await listenerUnderTest();
  const head = 'POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n';
  scene.client.write(`${GET}${head}${'1\r\nx\r\n'.repeat(8_000)}0\r\n\r\n`);
  await untilConstant(() => scene.accepted.bytesRead);
  scene.letGo();
  await untilConstant(() => (scene.answers() === 2 ? 2 : 0));
  assert.equal(scene.bodies, [0, 8_000]);
  assert.equal(scene.parts, [0, 1]);
});

pipelined(
  'with a body in chunks are answered although their handler does not read the body',
  async () => {
    using scene = await listenerUnderTest({ isReading: false });
    const head = 'POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n';
    scene.client.write(`${GET}${head}1\r\nx\r\n`);
    await untilConstant(() => scene.pipelines.holding);
    scene.client.write(`${`1000\r\n${'x'.repeat(4_096)}\r\n`.repeat(100)}0\r\n\r\n${GET}`);
    scene.letGo();
    await untilConstant(() => (scene.answers() === 3 ? 3 : 0));
  },
);

pipelined('have complete bodies if they are served in the same event-loop turn', async () => {
  using scene = await listenerUnderTest();
  scene.letGo();
  const head = 'POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n';
  scene.client.write(`${GET}${head}1\r\nx\r\n1\r\ny\r\n0\r\n\r\n${head}0\r\n\r\n`);
  await untilConstant(() => (scene.answers() === 3 ? 3 : 0));
  assert.equal(scene.bodies, [0, 2, 0]);
});

pipelined('with an empty body in chunks are served later', async () => {
  using scene = await listenerUnderTest();
  scene.client.write(
    `${GET}POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
  );
  await untilConstant(() => scene.pipelines.holding);
  scene.letGo();
  await untilConstant(() => (scene.answers() === 2 ? 2 : 0));
  assert.equal(scene.bodies, [0, 0]);
});

pipelined('with a partly received body are read to the end later', async () => {
  using scene = await listenerUnderTest();
  const whole = post(250_000);
  scene.client.write(GET + whole.slice(0, 1_000));
  await untilConstant(() => scene.pipelines.holding);
  scene.client.write(whole.slice(1_000));
  scene.letGo();
  await untilConstant(() => (scene.answers() === 2 ? 2 : 0));
  assert.equal(scene.bodies, [0, 250_000]);
});

pipelined('without a body do not pause the connection', async () => {
  using scene = await listenerUnderTest();
  scene.client.write(GET.repeat(40));
  await untilConstant(() => (scene.pipelines.waiting === 39 ? 39 : 0));
  assert.is(scene.pipelines.holding, 0);
  assert.not.ok(scene.accepted.isPaused());
  scene.letGo();
  await untilConstant(() => (scene.answers() === 40 ? 40 : 0));
});

const many = suite('connections with waiting pipelined bodies');

/** A connection with an unanswered request, and a pipelined request with a body behind it. */
function holdOn(pipelines: Pipelines): Socket {
  const socket = new Socket();
  const [front, behind] = [new IncomingMessage(socket), new IncomingMessage(socket)];
  behind.headers['content-length'] = '9';
  pipelines.note(front, new ServerResponse(front));
  const waiting = new ServerResponse(behind);
  pipelines.note(behind, waiting);
  pipelines.inTurn(behind, waiting, () => assert.unreachable());
  return socket;
}

many('are limited to 1,024: a further connection ends the oldest', async () => {
  const pipelines = new Pipelines();
  const sockets = Array.from({ length: 1_024 }, () => holdOn(pipelines));
  assert.ok(sockets.every(({ destroyed }) => !destroyed));
  const last = holdOn(pipelines);
  const [oldest, second] = sockets;
  assert.equal([oldest?.destroyed, second?.destroyed, last.destroyed], [true, false, false]);
  assert.equal([pipelines.holding, pipelines.waiting], [1_024, 1_024]);
});

for (const each of [pipelined, many]) each.run();
