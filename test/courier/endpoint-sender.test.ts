import { createServer as createHttpServer, type RequestListener } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo, Server, Socket } from 'node:net';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { EndpointSender, type SenderOptions } from '#courier/endpoint-sender';
import { pemOf } from '#test/support/servers/server-certificates';

const LOOPBACK = '127.0.0.1';
const NAME = 'edge.identity-engine';
const MESSAGE = { headers: { 'content-type': 'application/json' }, body: '{"type":"created"}' };

/** Timeout of a delivery that never gets its answer, in milliseconds. */
const SHORT_MS = 300;

/** An endpoint, with the connections and requests that it saw. */
async function endpoint(listener: RequestListener, tls = true) {
  const seen = { connections: 0, bodies: [] as string[] };
  const answer: RequestListener = (request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (text: string) => {
      body += text;
    });
    request.on('end', () => {
      seen.bodies.push(body);
      listener(request, response);
    });
  };
  const files = { key: pemOf('edge', 'tls.key'), cert: pemOf('edge', 'tls.crt') };
  const server: Server = tls ? createServer(files, answer) : createHttpServer(answer);
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    seen.connections += 1;
    sockets.add(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, LOOPBACK, resolve));
  const { port } = server.address() as AddressInfo;
  return {
    seen,
    url: `https://${NAME}:${port}/hook`,
    port,
    [Symbol.dispose]: () => {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

/** Sender for which the loopback address is internal. */
function senderOf(options: SenderOptions = {}): EndpointSender {
  return new EndpointSender({
    resolve: async () => [LOOPBACK],
    isInternal: (address) => address === LOOPBACK,
    ca: pemOf('edge', 'ca.crt'),
    ...options,
  });
}

const failed = (failure: string) => ({ kind: 'failed', failure });
const answered = (status: number, retryAfter?: string) => ({
  kind: 'answered',
  status,
  retryAfter,
});

const delivery = suite('a delivery');

delivery('sends headers and body over verified TLS, and returns the status', async () => {
  let contentType: string | undefined;
  using there = await endpoint((request, response) => {
    contentType = request.headers['content-type'];
    response.writeHead(204).end();
  });
  using sender = senderOf();
  assert.equal(await sender.send({ url: there.url, ...MESSAGE }), answered(204));
  assert.equal([contentType, there.seen.bodies], ['application/json', [MESSAGE.body]]);
});

delivery('uses a connection again', async () => {
  using there = await endpoint((_, response) => response.end('ok'));
  using sender = senderOf();
  for (let n = 0; n < 3; n += 1) await sender.send({ url: there.url, ...MESSAGE });
  assert.is(there.seen.connections, 1);
});

// Node.js reports such an answer by no event of its own, so the delivery would never end.
delivery('ends if the endpoint switches protocols', async () => {
  using there = await endpoint((request) => {
    request.socket.write(
      'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n',
    );
  });
  using sender = senderOf();
  assert.equal(await sender.send({ url: there.url, ...MESSAGE }), failed('broken_answer'));
});

delivery('follows no redirect', async () => {
  using other = await endpoint((_, response) => response.end());
  using there = await endpoint((_, response) => {
    response.writeHead(307, { location: other.url }).end();
  });
  using sender = senderOf();
  assert.equal(await sender.send({ url: there.url, ...MESSAGE }), answered(307));
  assert.is(other.seen.connections, 0);
});

delivery('returns the wait that the endpoint asks for', async () => {
  using there = await endpoint((_, response) => {
    response.writeHead(429, { 'retry-after': '7' }).end();
  });
  using sender = senderOf();
  assert.equal(await sender.send({ url: there.url, ...MESSAGE }), answered(429, '7'));
});

delivery('refuses an endpoint that it cannot verify', async () => {
  using there = await endpoint((_, response) => response.end());
  using plain = await endpoint((_, response) => response.end(), false);
  using strangers = senderOf({ ca: pemOf('stranger', 'ca.crt') });
  assert.equal(await strangers.send({ url: there.url, ...MESSAGE }), failed('tls_failed'));
  using sender = senderOf();
  const misnamed = there.url.replace(NAME, 'other.example');
  assert.equal(await sender.send({ url: misnamed, ...MESSAGE }), failed('tls_failed'));
  assert.equal(await sender.send({ url: plain.url, ...MESSAGE }), failed('tls_failed'));
  assert.equal([...there.seen.bodies, ...plain.seen.bodies], []);
});

const shown = suite('an answer');

/** Sender for which the answers of the loopback address may be shown. */
const showing = () => senderOf({ isShown: (address) => address === LOOPBACK });

shown('is shown with its content type and the first bytes of its text', async () => {
  using there = await endpoint((_, response) => {
    response.writeHead(500, { 'content-type': 'text/plain' }).end('no database');
  });
  using sender = showing();
  assert.equal(await sender.send({ url: there.url, ...MESSAGE }), {
    ...answered(500),
    shown: { contentType: 'text/plain', text: 'no database', isCut: false },
  });
});

shown('is cut after 1,024 bytes, at the end of a character', async () => {
  using there = await endpoint((_, response) => response.end('é'.repeat(3_000)));
  using sender = showing();
  const outcome = await sender.send({ url: there.url, ...MESSAGE });
  assert.equal(outcome, {
    ...answered(200),
    shown: { contentType: '', text: 'é'.repeat(512), isCut: true },
  });
  using odd = await endpoint((_, response) => response.end(`x${'é'.repeat(3_000)}`));
  const { shown: seen } = (await sender.send({ url: odd.url, ...MESSAGE })) as typeof outcome & {
    shown: { text: string };
  };
  assert.is(seen.text, `x${'é'.repeat(511)}`);
});

// A customer could otherwise read what the operator's own servers answer.
shown('of an internal network is not shown, also if its address is public', async () => {
  using there = await endpoint((_, response) => response.end('internal'));
  using sender = senderOf({ isPublic: () => true });
  assert.equal(await sender.send({ url: there.url, ...MESSAGE }), answered(200));
});

const bounded = suite('a hostile answer');

for (const [how, listener] of [
  ['no answer', () => undefined],
  [
    'informational answers only',
    (_, response) => {
      const timer = setInterval(() => response.writeProcessing(), 5);
      response.on('close', () => clearInterval(timer));
    },
  ],
  [
    'a header that never ends',
    (request) => {
      const timer = setInterval(() => request.socket.write('HTTP/1.1 200 OK\r\nx'), 50);
      request.socket.on('close', () => clearInterval(timer));
    },
  ],
] as const satisfies readonly (readonly [string, RequestListener])[]) {
  bounded(`(${how}) ends at the deadline of the delivery`, async () => {
    using there = await endpoint(listener);
    using sender = senderOf({ deliveryMsMax: SHORT_MS });
    const before = performance.now();
    const { kind } = await sender.send({ url: there.url, ...MESSAGE });
    assert.is(kind, 'failed');
    assert.ok(performance.now() - before < 10 * SHORT_MS);
  });
}

bounded('of one gigabyte is not read', async () => {
  let sent = 0;
  using there = await endpoint((_, response) => {
    const more = () => {
      while (!response.destroyed && response.write(Buffer.alloc(65_536))) sent += 65_536;
    };
    response.on('drain', more);
    more();
  });
  using sender = senderOf();
  assert.equal(await sender.send({ url: there.url, ...MESSAGE }), answered(200));
  assert.ok(sent < 50_000_000, `${sent} bytes were sent`);
});

bounded('with large headers is refused', async () => {
  using there = await endpoint((_, response) => {
    response.writeHead(200, { 'x-large': 'x'.repeat(12_000) }).end();
  });
  using sender = senderOf();
  assert.equal(await sender.send({ url: there.url, ...MESSAGE }), failed('broken_answer'));
});

bounded('with a body that trickles counts by its status', async () => {
  using there = await endpoint((_, response) => {
    const timer = setInterval(() => response.write('x'), 20);
    response.on('close', () => clearInterval(timer));
  });
  using sender = senderOf({ deliveryMsMax: SHORT_MS });
  assert.equal(await sender.send({ url: there.url, ...MESSAGE }), answered(200));
});

const address = suite('an address that is not public');

address(
  'is refused without a connection, by name, as text and among public addresses',
  async () => {
    using there = await endpoint((_, response) => response.end());
    using strict = new EndpointSender({ resolve: async () => [LOOPBACK] });
    using mixed = senderOf({ resolve: async () => [LOOPBACK, '10.0.0.1'] });
    const refused = failed('no_public_address');
    for (const sender of [strict, mixed]) {
      assert.equal(await sender.send({ url: there.url, ...MESSAGE }), refused);
    }
    for (const host of [
      '127.0.0.1',
      '0x7f000001',
      '2130706433',
      '127.1',
      '[::1]',
      '[::ffff:7f00:1]',
    ]) {
      const url = `https://${host}:${there.port}/`;
      assert.equal(await strict.send({ url, ...MESSAGE }), refused, host);
    }
    assert.is(there.seen.connections, 0);
  },
);

// A name server that answers the second question with another address.
address('is refused when the connection has it, before anything is sent', async () => {
  using there = await endpoint((_, response) => response.end());
  let checks = 0;
  using sender = senderOf({
    isInternal: () => {
      checks += 1;
      return checks === 1;
    },
  });
  assert.equal(await sender.send({ url: there.url, ...MESSAGE }), failed('no_public_address'));
  assert.equal(there.seen.bodies, []);
});

address('of a name without addresses is reported', async () => {
  using sender = senderOf({ resolve: async () => [] });
  const url = 'https://nobody.invalid/';
  assert.equal(await sender.send({ url, ...MESSAGE }), failed('no_public_address'));
});

for (const group of [delivery, shown, bounded, address]) group.run();
