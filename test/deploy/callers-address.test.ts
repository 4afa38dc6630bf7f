import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { Agent, get, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { suite as plainSuite } from 'uvu';
import * as assert from 'uvu/assert';
import { formatApiKey } from '#accounts/api-key';
import { clusterPlan } from '#deploy/local/cluster-plan';
import { systemProgramPath } from '#deploy/local/install/program-path';
import { startBalancer } from '#deploy/local/processes/service-process';
import { freePort } from '#deploy/local/servers/free-port';
import { type EdgePorts, startHaproxy } from '#test/deploy/haproxy';
import { newCaller } from '#test/support/calls/caller';
import { startStandalone } from '#test/support/servers/service';

/*
 * Balancers pass the caller's address to edges, so that edges limit only the sender of unknown
 * keys. Tests the local balancer, and `deploy/haproxy.cfg` if HAProxy is installed.
 */

/** Number of unknown keys per minute after which an edge looks up fewer keys of their address. */
const REFUSALS_PER_MINUTE_MAX = 30;

/** Maximum rounds to exhaust the look-ups of a second. */
const ROUNDS_MAX = 20;

const program = systemProgramPath('haproxy');
const isSkipped = program === undefined;
if (isSkipped && process.env['CI'] === 'true') throw new Error('there is no HAProxy');
if (isSkipped) console.log('skipped because there is no HAProxy (apt-get install haproxy)');

/**
 * Connections to open from an address. More than HAProxy's limit of 400, because a
 * busy machine drops connections before HAProxy counts them.
 */
const CONNECTIONS_OPENED = 440;

/** Number of polls: HAProxy updates its connection count with a delay. */
const ASKED_MAX = 50;

/** Maximum number of attempts to open the connections. */
const ATTEMPTS_MAX = 5;

/** A caller's address and the balancer's port. */
type Asking = { readonly port: number; readonly localAddress: string };

function ask({ port, localAddress }: Asking, headers: Record<string, string>, agent?: Agent) {
  const call = get({
    host: '127.0.0.1',
    port,
    localAddress,
    path: '/v1/personas',
    headers,
    agent: agent ?? false,
  });
  return once(call, 'response').then(async ([response]: IncomingMessage[]) => {
    const { statusCode = 0, headers: got = {} } = response ?? {};
    return { status: statusCode, headers: got, body: response ? await text(response) : '' };
  });
}

/** A well-formed key without an account. */
function unknownKey(index: number): { authorization: string } {
  const key = formatApiKey('000000000000', String(index).padStart(32, '0'));
  return { authorization: `Bearer ${key}` };
}

/**
 * Sends unknown keys from an address until the edge limits the address. Asserts that the edge still
 * looks up keys from another address.
 */
async function assertDistinguished(
  port: number,
  forged: Record<string, string> = {},
): Promise<void> {
  const guesser = { port, localAddress: '127.0.0.2' };
  let index = 0;
  const guess = () => {
    index += 1;
    const headers = Object.fromEntries(Object.entries(forged).map(([k, v]) => [k, `${v}${index}`]));
    return ask(guesser, { ...unknownKey(index), ...headers });
  };
  while (index < REFUSALS_PER_MINUTE_MAX) assert.is((await guess()).status, 401);
  let barred: Awaited<ReturnType<typeof guess>>[] = [];
  // The edge still looks up some unknown keys per second. On a slow machine, these can be all keys
  // of a round.
  for (let rounds = 0; barred.length === 0 && rounds < ROUNDS_MAX; rounds += 1) {
    const answers = await Promise.all(Array.from({ length: 20 }, guess));
    barred = answers.filter(({ status }) => status === 503);
  }
  assert.ok(barred.length > 0, 'the edge limits an address that sends unknown keys');
  for (const { body } of barred) assert.match(body, 'too_many_refused_keys');
  for (let other = 0; other < 20; other += 1) {
    const answer = await ask({ port, localAddress: '127.0.0.3' }, unknownKey(1_000 + other));
    assert.is(answer.status, 401, 'the edge does not limit another address');
  }
}

/** Ports of a single-process service. */
function portsOf(service: { origin: string; metricsUrl: string }): EdgePorts {
  const portOf = (url: string) => Number(new URL(url).port);
  return { port: portOf(service.origin), operatorsPort: portOf(service.metricsUrl) };
}

const local = plainSuite('an edge behind the balancer of a local cluster');

local('limits only the caller with unknown keys', async () => {
  await using service = await startStandalone();
  const folder = mkdtempSync(join(tmpdir(), 'identity-engine-caller-'));
  const port = await freePort();
  const edge = { name: 'edge1', kind: 'edge', variables: {}, ...portsOf(service) } as const;
  const plan = { ...clusterPlan({ folder, ports: 1 }), processes: [edge] };
  const entrances = [{ port, kind: 'edge' }] as const;
  const planned = { name: 'balancer', kind: 'balancer', port, variables: {}, entrances } as const;
  const balancer = await startBalancer({ folder, logFolder: folder }, planned, plan);
  try {
    // Headers from the client must not change the address.
    await assertDistinguished(port, { 'x-forwarded-for': '10.9.9.' });
  } finally {
    await balancer.stop();
    rmSync(folder, { recursive: true, force: true });
  }
});

const haproxy = plainSuite('an edge behind HAProxy with deploy/haproxy.cfg');
const behind = isSkipped ? haproxy.skip : haproxy;
const TRUSTING = { SERVICE_TRUSTED_PROXIES: '127.0.0.1/32' };

behind('limits only the caller with unknown keys, despite forged headers', async () => {
  await using service = await startStandalone(TRUSTING);
  const ports = portsOf(service);
  await using balancer = await startHaproxy(program ?? '', { edges: [ports, ports] });
  await assertDistinguished(balancer.port, { 'x-forwarded-for': '10.9.9.' });
  assert.match(service.log(), /"address":"127\.0\.0\.2".*too many refused keys/);
  assert.not.match(service.log(), /10\.9\.9/);
});

behind('answers several calls on a kept-alive connection', async () => {
  await using service = await startStandalone(TRUSTING);
  const caller = await newCaller(service);
  const ports = portsOf(service);
  await using balancer = await startHaproxy(program ?? '', { edges: [ports, ports] });
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const from = { port: balancer.port, localAddress: '127.0.0.2' };
  for (let calls = 0; calls < 5; calls += 1) {
    const answer = await ask(from, { authorization: `Bearer ${caller.key}` }, agent);
    assert.is(answer.status, 200);
    assert.is(answer.headers['x-ratelimit-limit'], '1000000', 'headers of the edge are unchanged');
  }
  agent.destroy();
});

behind('accepts other addresses while an address holds its maximum of connections', async () => {
  await using service = await startStandalone(TRUSTING);
  const ports = portsOf(service);
  await using balancer = await startHaproxy(program ?? '', { edges: [ports, ports] });
  const statusFrom = (localAddress: string) =>
    ask({ port: balancer.port, localAddress }, {}).then(
      ({ status }) => status,
      () => 'refused',
    );
  let last: number | string = '';
  // Repeat, because the balancer closes idle connections after some seconds, possibly before the
  // assertion.
  for (let attempt = 0; attempt < ATTEMPTS_MAX && last !== 'refused'; attempt += 1) {
    using _held = await heldConnections(balancer.port, '127.0.0.2');
    for (let asked = 0; asked < ASKED_MAX && last !== 'refused'; asked += 1) {
      last = await statusFrom('127.0.0.2');
    }
    assert.is(await statusFrom('127.0.0.3'), 401);
  }
  assert.is(last, 'refused');
});

/** Opens more connections than an address may have. */
async function heldConnections(port: number, localAddress: string): Promise<Disposable> {
  const held = Array.from({ length: CONNECTIONS_OPENED }, () =>
    // The balancer may close a connection before the test does.
    connect({ host: '127.0.0.1', port, localAddress }).on('error', () => undefined),
  );
  await Promise.allSettled(held.map((socket) => once(socket, 'connect')));
  return {
    [Symbol.dispose]: () => {
      for (const socket of held) socket.destroy();
    },
  };
}

const gone = plainSuite('HAProxy without a ready edge');
const alone = isSkipped ? gone.skip : gone;

alone("answers 503 in the API's error format, with all headers", async () => {
  const nowhere = { port: await freePort(), operatorsPort: await freePort() };
  await using balancer = await startHaproxy(program ?? '', { edges: [nowhere, nowhere] });
  const answer = await ask({ port: balancer.port, localAddress: '127.0.0.2' }, {});
  assert.is(answer.status, 503);
  const { error, details } = JSON.parse(answer.body);
  assert.is(error, 'service_unavailable');
  assert.is(details.request_id, answer.headers['x-request-id']);
  assert.is(answer.headers['retry-after'], '1');
  assert.is(answer.headers['x-ratelimit-limit'], '0');
  assert.is(answer.headers['x-ratelimit-remaining'], '0');
  assert.is(answer.headers['x-monthly-remaining'], '0');
  const inS = Number(answer.headers['x-ratelimit-reset']) - Date.now() / 1_000;
  assert.ok(inS > 55 && inS < 65, `${inS}`);
});

for (const each of [local, haproxy, gone]) each.run();
