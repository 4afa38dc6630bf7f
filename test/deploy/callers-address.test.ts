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
import { freePort } from '#deploy/local/free-port';
import { startBalancer } from '#deploy/local/service-process';
import { type EdgePorts, haproxyPath, startComposeBalancer } from '#test/deploy/compose-balancer';
import { newCaller } from '#test/support/caller';
import { startStandalone } from '#test/support/service';

/*
 * What stands in front of the edges passes the caller's address on, so that a sender of made-up keys
 * is barred alone: the local balancer, and that of the compose file where HAProxy is installed.
 */

/** What an edge forgives an address in a minute before unknown keys are looked up less often. */
const REFUSALS_PER_MINUTE_MAX = 30;

/** How often a test tries to see a second's look-ups spent. */
const ROUNDS_MAX = 20;

const program = haproxyPath();
const isSkipped = program === undefined;
if (isSkipped && process.env['CI'] === 'true') throw new Error('there is no HAProxy');
if (isSkipped) console.log('skipped because there is no HAProxy (apt-get install haproxy)');

/**
 * Connections that a greedy address opens: more than the 400 that the balancer of the compose file
 * grants, because a busy machine drops some before they are counted.
 */
const CONNECTIONS_OPENED = 440;

/** How often it is asked whether that many are counted: it takes them in a moment later. */
const ASKED_MAX = 50;

/** How often that many are opened. */
const TRIES_MAX = 5;

/** How a caller of one address asks something of the balancer on a port. */
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

/** A key of the right form and checksum that no account has. */
function unknownKey(index: number): { authorization: string } {
  const key = formatApiKey('000000000000', String(index).padStart(32, '0'));
  return { authorization: `Bearer ${key}` };
}

/** Sends made-up keys from one address until it is barred; another one is looked up all the same. */
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
  // Some unknown keys are looked up in any second, on a slow machine all of a round.
  for (let rounds = 0; barred.length === 0 && rounds < ROUNDS_MAX; rounds += 1) {
    const answers = await Promise.all(Array.from({ length: 20 }, guess));
    barred = answers.filter(({ status }) => status === 503);
  }
  assert.ok(barred.length > 0, 'an address that sends made-up keys is barred');
  for (const { body } of barred) assert.match(body, 'too_many_refused_keys');
  for (let other = 0; other < 20; other += 1) {
    const answer = await ask({ port, localAddress: '127.0.0.3' }, unknownKey(1_000 + other));
    assert.is(answer.status, 401, 'another one is not');
  }
}

/** The ports of a service that runs in one process. */
function portsOf(service: { origin: string; metricsUrl: string }): EdgePorts {
  const portOf = (url: string) => Number(new URL(url).port);
  return { port: portOf(service.origin), operatorsPort: portOf(service.metricsUrl) };
}

const local = plainSuite('an edge behind the balancer of a local cluster');

local('bars the caller who sends made-up keys, and no other', async () => {
  await using service = await startStandalone();
  const folder = mkdtempSync(join(tmpdir(), 'identity-engine-caller-'));
  const port = await freePort();
  const edge = { name: 'edge1', kind: 'edge', variables: {}, ...portsOf(service) } as const;
  const plan = { ...clusterPlan({ folder, ports: 1 }), processes: [edge] };
  const entrances = [{ port, kind: 'edge' }] as const;
  const planned = { name: 'balancer', kind: 'balancer', port, variables: {}, entrances } as const;
  const balancer = await startBalancer({ folder, logFolder: folder }, planned, plan);
  try {
    // What a caller says of itself counts for nothing here.
    await assertDistinguished(port, { 'x-forwarded-for': '10.9.9.' });
  } finally {
    await balancer.stop();
    rmSync(folder, { recursive: true, force: true });
  }
});

const compose = plainSuite('an edge behind the balancer of the compose file');
const behind = isSkipped ? compose.skip : compose;
const TRUSTING = { SERVICE_TRUSTED_PROXIES: '127.0.0.1/32' };

behind('bars the caller who sends made-up keys, and no other, whatever they forge', async () => {
  await using service = await startStandalone(TRUSTING);
  const ports = portsOf(service);
  await using balancer = await startComposeBalancer(program ?? '', { edges: [ports, ports] });
  await assertDistinguished(balancer.port, { 'x-forwarded-for': '10.9.9.' });
  assert.match(service.log(), /"address":"127\.0\.0\.2".*too many refused keys/);
  assert.not.match(service.log(), /10\.9\.9/);
});

behind('is asked again on a connection that is kept', async () => {
  await using service = await startStandalone(TRUSTING);
  const caller = await newCaller(service);
  const ports = portsOf(service);
  await using balancer = await startComposeBalancer(program ?? '', { edges: [ports, ports] });
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const from = { port: balancer.port, localAddress: '127.0.0.2' };
  for (let calls = 0; calls < 5; calls += 1) {
    const answer = await ask(from, { authorization: `Bearer ${caller.key}` }, agent);
    assert.is(answer.status, 200);
    assert.is(answer.headers['x-ratelimit-limit'], '1000000', 'its own headers pass unchanged');
  }
  agent.destroy();
});

behind(
  'is open to others while one address holds all the connections that it may have',
  async () => {
    await using service = await startStandalone(TRUSTING);
    const ports = portsOf(service);
    await using balancer = await startComposeBalancer(program ?? '', { edges: [ports, ports] });
    const statusFrom = (localAddress: string) =>
      ask({ port: balancer.port, localAddress }, {}).then(
        ({ status }) => status,
        () => 'refused',
      );
    let last: number | string = '';
    // The balancer ends idle connections after some seconds: a busy machine may need longer to open them.
    for (let tried = 0; tried < TRIES_MAX && last !== 'refused'; tried += 1) {
      using _held = await heldConnections(balancer.port, '127.0.0.2');
      for (let asked = 0; asked < ASKED_MAX && last !== 'refused'; asked += 1) {
        last = await statusFrom('127.0.0.2');
      }
      assert.is(await statusFrom('127.0.0.3'), 401);
    }
    assert.is(last, 'refused');
  },
);

/** More connections than an address may have, as many of them as are granted. */
async function heldConnections(port: number, localAddress: string): Promise<Disposable> {
  const held = Array.from({ length: CONNECTIONS_OPENED }, () =>
    // The balancer may end one of them before the test does.
    connect({ host: '127.0.0.1', port, localAddress }).on('error', () => undefined),
  );
  await Promise.allSettled(held.map((socket) => once(socket, 'connect')));
  return {
    [Symbol.dispose]: () => {
      for (const socket of held) socket.destroy();
    },
  };
}

const gone = plainSuite('the balancer of the compose file, with no edge that is ready');
const alone = isSkipped ? gone.skip : gone;

alone('answers 503 in the envelope, with all headers of an unknown caller', async () => {
  const nowhere = { port: await freePort(), operatorsPort: await freePort() };
  await using balancer = await startComposeBalancer(program ?? '', { edges: [nowhere, nowhere] });
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

for (const each of [local, compose, gone]) each.run();
