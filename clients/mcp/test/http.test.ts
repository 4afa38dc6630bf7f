import { request } from 'node:http';
import type { AddressInfo, Server as NetServer } from 'node:net';
import { createServer } from 'node:net';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { data, FakeServer } from '../../typescript/test/support/fake-server.ts';
import {
  call,
  connectHttp,
  newScene,
  observationAt,
  refusal,
  startHttp,
  startServer,
  variablesOf,
} from './support/mcp.ts';

const KEY = 'svc_sk_of_the_tests';
const ID = 'inst_0123456789abcdef';
const TOKEN = 'a-token-of-the-tests';

const LIST = { jsonrpc: '2.0', id: 1, method: 'tools/list' };

type Sent = {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
};

/** Sends a request with any `Host`, which `fetch` cannot. By default a valid request. */
async function send(url: string, { method = 'POST', headers, body = JSON.stringify(LIST) }: Sent) {
  const { promise, resolve, reject } = Promise.withResolvers<{
    readonly status: number | undefined;
    readonly headers: NodeJS.Dict<string | string[]>;
    readonly text: string;
  }>();
  const accept = 'application/json, text/event-stream';
  const all = { 'content-type': 'application/json', accept, ...headers };
  const sent = request(url, { method, headers: all }, (response) => {
    let text = '';
    response.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
    });
    response.on('end', () => {
      resolve({ status: response.statusCode, headers: response.headers, text });
    });
  });
  sent.on('error', reject);
  sent.end(method === 'POST' ? body : undefined);
  return await promise;
}

const door = suite('the HTTP server');

door('listens on the loopback address', async () => {
  await using server = await startHttp(variablesOf('http://127.0.0.1:9/v1', KEY, ID));
  assert.match(server.url, /^http:\/\/127\.0\.0\.1:\d+\/mcp$/);
});

door('checks Host and Origin', async () => {
  const variables = variablesOf('http://127.0.0.1:9/v1', KEY, ID);
  await using server = await startHttp(variables, ['--allowed-hosts', 'mcp.example']);
  const { port } = new URL(server.url);
  for (const [headers, status] of [
    [{}, 200],
    [{ host: `localhost:${port}` }, 200],
    [{ host: 'mcp.example' }, 200],
    [{ host: 'MCP.example:8443' }, 200],
    [{ host: 'evil.example' }, 403],
    [{ host: `127.0.0.1.evil.example:${port}` }, 403],
    [{ origin: 'http://localhost:3000' }, 200],
    [{ origin: 'https://mcp.example' }, 200],
    [{ origin: 'https://evil.example' }, 403],
    [{ origin: 'null' }, 403],
  ] as const) {
    const answer = await send(server.url, { headers: { ...headers } });
    assert.is(answer.status, status, JSON.stringify(headers));
  }
});

door('refuses other methods, paths and large bodies', async () => {
  await using server = await startHttp(variablesOf('http://127.0.0.1:9/v1', KEY, ID));
  const statusOf = async (sent: Sent, path = '') => (await send(server.url + path, sent)).status;
  assert.is(await statusOf({ method: 'GET' }), 405);
  assert.is(await statusOf({ method: 'DELETE' }), 405);
  assert.is(await statusOf({ body: ' '.repeat(65_537) }), 413);
  const chunked = { 'transfer-encoding': 'chunked' };
  assert.is(await statusOf({ headers: chunked, body: ' '.repeat(65_537) }), 413);
  assert.is(await statusOf({}, `/${ID}`), 200);
  for (const path of ['/inst_ffffffffffffffff', '/..', '/inst_%2e', 's', '/a/b']) {
    assert.is(await statusOf({}, path), 404, path);
  }
});

// One request of 64 KiB caused about a thousand calls of the service.
door('answers at most 20 calls in a request', async () => {
  await using server = await startHttp(variablesOf('http://127.0.0.1:9/v1', KEY, ID));
  const answer = (count: number) =>
    send(server.url, { body: `\n${JSON.stringify(new Array(count).fill(LIST))}` });
  assert.is((await answer(20)).status, 200);
  const refused = await answer(21);
  assert.is(refused.status, 400);
  assert.match(refused.text, 'send at most 20 calls in a request');
});

// Each unread notification repeated an id of 40,000 characters in memory.
door('refuses a subscription with a long id', async () => {
  await using server = await startHttp(variablesOf('http://127.0.0.1:9/v1', KEY, ID));
  const listen = {
    ...{ jsonrpc: '2.0', id: 'x'.repeat(129), method: 'subscriptions/listen' },
    params: { notifications: { resourceSubscriptions: [`identity-engine://instances/${ID}`] } },
  };
  const headers = { 'mcp-method': 'subscriptions/listen' };
  const refused = await send(server.url, { headers, body: JSON.stringify(listen) });
  assert.is(refused.status, 400);
  assert.match(refused.text, 'at most 128 characters');
});

const closed = suite('the HTTP server with a token');

closed('answers 401 without the token, and does not forward the token', async () => {
  await using service = await FakeServer.start(data({}));
  const variables = variablesOf(service.baseUrl, KEY, ID);
  await using server = await startHttp({ ...variables, IDENTITY_ENGINE_MCP_TOKEN: TOKEN });
  for (const authorization of ['', 'Bearer wrong', `Basic ${TOKEN}`, `Bearer ${KEY}`]) {
    const answer = await send(server.url, { headers: { authorization } });
    assert.is(answer.status, 401);
    assert.match(String(answer.headers['www-authenticate']), /^Bearer error="invalid_token"/);
    assert.not.match(answer.text, TOKEN);
  }
  const headers = { authorization: `Bearer ${TOKEN}` };
  await using connection = await connectHttp('modern', server.url, headers);
  await connection.client.callTool({ name: 'status' });
  assert.ok(service.received.length > 0);
  for (const received of service.received) {
    assert.is(received.headers['authorization'], `Bearer ${KEY}`);
  }
});

const shared = suite('the HTTP server without a key of its own');

shared('uses the bearer token of each client as API key', async () => {
  const { service, caller, id, newCaller } = await newScene();
  const other = await newCaller();
  const otherId = await other.createInstance();
  await using server = await startHttp({ IDENTITY_ENGINE_BASE_URL: service.api });
  assert.is((await send(`${server.url}/${id}`, {})).status, 401);
  const connectAs = (key: string, instanceId: string) =>
    connectHttp('modern', `${server.url}/${instanceId}`, { authorization: `Bearer ${key}` });
  await using ada = await connectAs(caller.key, id);
  await using eva = await connectAs(other.key, otherId);
  await using thief = await connectAs(other.key, id);
  await using lost = await connectAs(other.key, 'inst_ffffffffffffffff');
  assert.is((await call(ada, 'observe', observationAt(0))).cycle, 1);
  assert.is((await call(eva, 'status')).cycle, 0);
  for (const name of ['status', 'contract']) {
    assert.is(await refusal(thief, name), await refusal(lost, name));
    assert.match(await refusal(thief, name), 'no such instance');
  }
  const uri = `identity://instances/${id}/contract`;
  const listened = thief.client.listen({ resourceSubscriptions: [uri] });
  assert.match(await listened.then(String, (error: Error) => error.message), 'Resource not found');
});

// One client could take all subscriptions of the server.
shared('keeps room for subscriptions of other keys', async () => {
  const { service, caller, id, newCaller } = await newScene();
  const other = await newCaller();
  const otherId = await other.createInstance();
  await using server = await startHttp({ IDENTITY_ENGINE_BASE_URL: service.api });
  const connectAs = (key: string, instanceId: string) =>
    connectHttp('modern', `${server.url}/${instanceId}`, { authorization: `Bearer ${key}` });
  const listen = ({ client }: Awaited<ReturnType<typeof connectAs>>, instanceId: string) =>
    client.listen({ resourceSubscriptions: [`identity://instances/${instanceId}/contract`] });
  await using greedy = await connectAs(caller.key, id);
  await using modest = await connectAs(other.key, otherId);
  await Promise.all(Array.from({ length: 50 }, () => listen(greedy, id)));
  const refused = await listen(greedy, id).then(String, (error: Error) => error.message);
  assert.match(refused, 'too many subscriptions');
  await listen(modest, otherId);
});

shared('needs the instance in the path', async () => {
  await using server = await startHttp({ IDENTITY_ENGINE_BASE_URL: 'http://127.0.0.1:9/v1' });
  const headers = { authorization: `Bearer ${KEY}` };
  const answer = await send(server.url, { headers });
  assert.equal(
    [answer.status, JSON.parse(answer.text).error],
    [404, 'no such instance: connect to /mcp, or to /mcp/ and the id of an instance'],
  );
  assert.is((await send(`${server.url}/${ID}`, { headers })).status, 200);
  assert.is((await send(`${server.url}/inst_`, { headers })).status, 404);
});

const together = suite('many clients of one HTTP server');

together('each reach only their own instance', async () => {
  const { service, caller } = await newScene();
  const ids = await Promise.all(Array.from({ length: 8 }, () => caller.createInstance()));
  await using server = await startHttp(variablesOf(service.api, caller.key, ids.join()));
  const cycles = await Promise.all(
    ids.map(async (id, index) => {
      const era = index % 2 === 0 ? 'modern' : 'legacy';
      await using connection = await connectHttp(era, `${server.url}/${id}`);
      const { resources } = await connection.client.listResources();
      assert.equal(
        resources.map(({ uri }) => uri),
        [`identity://instances/${id}/contract`],
      );
      const uri = `identity://instances/${id}/contract`;
      if (era === 'modern') await connection.client.listen({ resourceSubscriptions: [uri] });
      for (let second = 0; second <= index; second += 1) {
        await call(connection, 'observe', observationAt(second));
      }
      const { cycle } = await call(connection, 'status');
      assert.ok(connection.updates.every((each) => each === uri));
      return cycle;
    }),
  );
  assert.equal(cycles, [1, 2, 3, 4, 5, 6, 7, 8]);
});

const taken = suite('a port in use');

taken('ends the server with one line and the next step', async () => {
  const other: NetServer = createServer();
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
  const { port } = other.address() as AddressInfo;
  const variables = variablesOf('http://127.0.0.1:9/v1', KEY, ID);
  const server = startServer(['--http', '--port', `${port}`], variables);
  const code = await server.ended;
  other.close();
  assert.is(code, 1);
  assert.match(server.stderr(), /^identity-engine-mcp: .*EADDRINUSE.*--port.*\n$/);
  assert.is(server.stdout(), '');
});

for (const each of [door, closed, shared, together, taken]) each.run();
