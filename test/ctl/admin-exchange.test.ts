import { once } from 'node:events';
import { Agent, createServer, type IncomingMessage, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text as textOf } from 'node:stream/consumers';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { serveAdmin } from '#limiter/admin/server';
import { ADMIN_PROOF_HEADER, challengeOf, nonceIn, requestProof } from '#limiter/admin/token';
import { ctl } from '#test/ctl/ctl-run';
import { custom, limiterUnderTest } from '#test/limiter/limiter-fixture';
import { ADMIN_TOKEN, adminTokenFile } from '#test/support/calls/admin-token';
import { NO_OVERVIEW } from '#test/support/no-overview';

const run = (adminUrl: string) =>
  ctl(['accounts', 'create', 'acme'], { adminUrl, adminTokenFile: adminTokenFile() });

/** Server without the token. Records all requests, and answers with the headers of `headersOf`. */
async function impostor(headersOf: (request: IncomingMessage) => Record<string, string>) {
  const heard: string[] = [];
  const server = createServer(async (asked, response) => {
    heard.push(`${asked.method} ${asked.rawHeaders.join(' ')} ${await textOf(asked)}`);
    const isProven = asked.headers.authorization !== undefined;
    response.writeHead(isProven ? 200 : 401, headersOf(asked));
    const error = { error: 'unauthorized', message: 'prove it', details: {} };
    response.end(JSON.stringify(isProven ? { data: [] } : error));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    heard,
    address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    [Symbol.dispose]: () => void server.close(),
  };
}

const stranger = suite('ctl connected to another program');

stranger('never sends the token, for any challenge', async () => {
  for (const challenge of ['Bearer', 'Basic realm="x"', challengeOf('of-the-impostor')]) {
    using other = await impostor(() => ({ 'www-authenticate': challenge }));
    assert.is((await run(other.address)).code, 1);
    assert.ok(other.heard.length > 0);
    assert.not.match(other.heard.join('\n'), new RegExp(ADMIN_TOKEN));
  }
});

stranger('discards an answer with a forged proof', async () => {
  using other = await impostor(() => ({
    'www-authenticate': challengeOf('of-the-impostor'),
    [ADMIN_PROOF_HEADER]: 'made-up',
  }));
  const { code, out, err } = await run(other.address);
  assert.equal([code, out], [1, '']);
  assert.match(err, /^ctl: the process at 127\.0\.0\.1:\d+ did not prove the token/);
});

/** Server without the token. Answers with the status of `statusOf` and a forged result. */
async function liar(statusOf: (request: IncomingMessage) => number) {
  const headers = { 'www-authenticate': challengeOf('of-the-impostor') };
  const data = { id: 'acct_0', name: 'acme', key: 'svc_sk_made_up' };
  const server = createServer(async (asked, response) => {
    await textOf(asked);
    const status = statusOf(asked);
    response.writeHead(status, status === 401 ? headers : {}).end(JSON.stringify({ data }));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  return { address: `http://127.0.0.1:${port}`, [Symbol.dispose]: () => void server.close() };
}

stranger('discards a result if the server has sent no challenge', async () => {
  using other = await liar(() => 200);
  for (const adminTokenFileOr of [adminTokenFile(), undefined]) {
    const { code, out, err } = await ctl(['accounts', 'create', 'acme'], {
      adminUrl: other.address,
      ...(adminTokenFileOr && { adminTokenFile: adminTokenFileOr }),
    });
    assert.equal([code, out], [1, '']);
    assert.match(err, /^ctl: 127\.0\.0\.1:\d+ is not an admin port/);
  }
});

stranger('ignores the body of a 401 answer', async () => {
  using other = await liar(() => 401);
  const { code, out, err } = await run(other.address);
  assert.equal([code, out], [1, '']);
  assert.match(err, /check that .* has the token of this service/);
});

const service = suite('an admin port that requires proofs');

/** The admin port of a limiter. `changes` counts the changes that the port accepted. */
async function portUnderTest() {
  const { limiter, clock } = await limiterUnderTest(custom(60, 100));
  let changes = 0;
  const onBug = (bug: unknown) => {
    throw bug;
  };
  const ports = { admin: limiter.admin, clock, onBug, token: ADMIN_TOKEN };
  const heard = () => {
    changes += 1;
  };
  const running = await serveAdmin(
    { host: '127.0.0.1', port: 0 },
    { ...ports, trail: limiter.audit, heard, cluster: NO_OVERVIEW },
  );
  return {
    address: running.address,
    host: new URL(running.address).host,
    changes: () => changes,
    async [Symbol.asyncDispose]() {
      await running[Symbol.asyncDispose]();
      await limiter[Symbol.asyncDispose]();
    },
  };
}

/** Sends a request on the agent's connection. Returns the status and the nonce of the challenge. */
async function send(agent: Agent, url: string, authorization?: string, body = '') {
  const method = body === '' ? 'GET' : 'POST';
  const headers = {
    ...(authorization === undefined ? {} : { authorization }),
    ...(body === '' ? {} : { 'content-type': 'application/json', 'content-length': body.length }),
  };
  const asked = request(url, { agent, method, headers });
  asked.end(body);
  const [response] = (await once(asked, 'response')) as [IncomingMessage];
  await textOf(response);
  return { status: response.statusCode, nonce: nonceIn(response.headers['www-authenticate']) };
}

service('accepts a change from ctl if ctl has the token', async () => {
  await using port = await portUnderTest();
  const { code, out } = await run(port.address);
  assert.is(code, 0);
  assert.match(out, /acme/);
  assert.is(port.changes(), 1);
});

const BODY = '{"name":"a","plan":"free"}';

service('accepts a proof only once, and only with its connection, port and body', async () => {
  await using port = await portUnderTest();
  const url = `${port.address}/accounts`;
  const mine = new Agent({ keepAlive: true, maxSockets: 1 });
  const other = new Agent({ keepAlive: true, maxSockets: 1 });
  const proofFor = async (address: string, body: string) => {
    const { nonce = '' } = await send(mine, url);
    const asked = { nonce, address, method: 'POST', target: '/accounts', body };
    return `Proof ${requestProof(ADMIN_TOKEN, asked)}`;
  };
  const statusOf = async (agent: Agent, proof: string) =>
    (await send(agent, url, proof, BODY)).status;
  assert.is(await statusOf(mine, await proofFor('127.0.0.1:1', BODY)), 401);
  assert.is(await statusOf(mine, await proofFor(port.host, `${BODY} `)), 401);
  assert.is(await statusOf(other, await proofFor(port.host, BODY)), 401);
  assert.is(port.changes(), 0);
  const right = await proofFor(port.host, BODY);
  assert.is(await statusOf(mine, right), 200);
  assert.is(await statusOf(mine, right), 401);
  assert.is(port.changes(), 1);
  for (const agent of [mine, other]) agent.destroy();
});

for (const each of [stranger, service]) each.run();
