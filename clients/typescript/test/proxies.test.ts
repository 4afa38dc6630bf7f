import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type AddressInfo, connect } from 'node:net';
import { createServer } from 'node:tls';
import { promisify } from 'node:util';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { KEY } from './support/clients.ts';
import { data, FakeServer } from './support/fake-server.ts';
import { RecordingProxy } from './support/recording-proxy.ts';

/*
 * Tests the proxy settings of Node.js that the README names, each in its own process.
 * `package.test.ts` tests the README's program with `undici`.
 */

const run = promisify(execFile);

/** Timeout of a process, in milliseconds. */
const RUN_MS_MAX = 60_000;

const ENTRY = new URL('../src/identity-engine.ts', import.meta.url).href;

/** Certificate of `edge.identity-engine`, with its authority. */
const CERTIFICATE = new URL('../../../test/grpc/certificates/edge/', import.meta.url);

/** Makes a call and follows a stream to its end. Prints the results, or the error's name. */
const PROGRAM = `
import { IdentityEngine } from ${JSON.stringify(ENTRY)};
const client = new IdentityEngine({ attemptsMax: 1, timeoutMs: 30_000 });
try {
  const { data } = await client.account.get();
  const types = [];
  for await (const { type } of client.instance('inst_1').events()) types.push(type);
  console.log(data.plan, types.join());
} catch (error) {
  console.log(error.name, error.mayHaveHappened);
}
`;

/** Runs `PROGRAM` with this environment and returns its output. */
async function outputWith(env: Readonly<Record<string, string>>): Promise<string> {
  const args = ['--input-type=module', '--eval', PROGRAM];
  const own = { PATH: process.env['PATH'], IDENTITY_ENGINE_API_KEY: KEY, ...env };
  const { stdout } = await run(process.execPath, args, { env: own, timeout: RUN_MS_MAX });
  return stdout.trim();
}

/** Answers both requests of `PROGRAM`. */
async function startService() {
  return await FakeServer.start(data({ plan: 'free' }), (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream', 'x-request-id': 'req_1' });
    response.end('event: deleted\ndata: {}\n\n');
  });
}

const portOf = ({ baseUrl }: FakeServer) => Number(new URL(baseUrl).port);

const proxies = suite('a proxy of the environment');

proxies('is used for http with NODE_USE_ENV_PROXY and HTTP_PROXY', async () => {
  await using service = await startService();
  await using proxy = await RecordingProxy.start(portOf(service));
  const output = await outputWith({
    ...{ NODE_USE_ENV_PROXY: '1', HTTP_PROXY: `http://ada:secret@${proxy.host}` },
    IDENTITY_ENGINE_BASE_URL: 'http://service.test/v1',
  });
  assert.is(output, 'free deleted');
  assert.ok(proxy.received.length > 0);
  for (const { target, headers } of proxy.received) {
    assert.match(target, 'service.test');
    assert.is(headers['proxy-authorization'], `Basic ${btoa('ada:secret')}`);
  }
  assert.is(service.received[0]?.headers['proxy-authorization'], undefined);
});

proxies('is used for https with HTTPS_PROXY, through a tunnel without the key', async () => {
  await using service = await startService();
  const pem = (name: string) => readFileSync(new URL(name, CERTIFICATE));
  const identity = { cert: pem('tls.crt'), key: pem('tls.key') };
  const secure = createServer(identity, (socket) => {
    const onward = connect(portOf(service), '127.0.0.1');
    socket.on('error', () => onward.destroy());
    onward.on('error', () => socket.destroy());
    socket.pipe(onward).pipe(socket);
  }).listen(0, '127.0.0.1');
  await once(secure, 'listening');
  await using proxy = await RecordingProxy.start((secure.address() as AddressInfo).port);
  const output = await outputWith({
    ...{ NODE_USE_ENV_PROXY: '1', HTTPS_PROXY: `http://${proxy.host}` },
    IDENTITY_ENGINE_BASE_URL: 'https://edge.identity-engine/v1',
    NODE_EXTRA_CA_CERTS: new URL('ca.crt', CERTIFICATE).pathname,
  });
  secure.close();
  assert.is(output, 'free deleted');
  const targets = new Set(proxy.received.map(({ method, target }) => `${method} ${target}`));
  assert.equal([...targets], ['CONNECT edge.identity-engine:443']);
  assert.not.match(JSON.stringify(proxy.received), KEY);
  assert.is(service.received[0]?.headers['authorization'], `Bearer ${KEY}`);
});

proxies('is not used for hosts in NO_PROXY', async () => {
  await using service = await startService();
  await using proxy = await RecordingProxy.start(portOf(service));
  const output = await outputWith({
    ...{ NODE_USE_ENV_PROXY: '1', HTTP_PROXY: `http://${proxy.host}`, NO_PROXY: '127.0.0.1' },
    IDENTITY_ENGINE_BASE_URL: service.baseUrl,
  });
  assert.is(output, 'free deleted');
  assert.equal(proxy.received, []);
});

proxies('is not used without NODE_USE_ENV_PROXY', async () => {
  await using service = await startService();
  await using proxy = await RecordingProxy.start(portOf(service));
  const output = await outputWith({
    HTTP_PROXY: `http://${proxy.host}`,
    IDENTITY_ENGINE_BASE_URL: service.baseUrl,
  });
  assert.is(output, 'free deleted');
  assert.equal(proxy.received, []);
});

proxies.run();
