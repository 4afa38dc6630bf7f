import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { assertRefusalShape } from '#test/support/calls/api-document';
import { dial, type RawConnection, requestText } from '#test/support/calls/raw-http';
import { createInstance, observationAt, openScene } from '#test/support/calls/scene';
import { metricValues } from '#test/support/metric-values';

const { service, caller, close } = await openScene();
const auth = `Authorization: Bearer ${caller.key}`;
const json = 'Content-Type: application/json';

/** Number of sockets with an invented key and an endless body. The edge has fewer slots. */
const SOCKETS = 9_000;

/** Maximum unfinished bodies per address. */
const BODIES_MAX = 256;

/** Maximum error rate of other callers during the flood. */
const ERRORS_MAX = 0.01;
/** Maximum latency of 99 % of the calls of other callers during the flood. */
const P99_MS_MAX = 250;
/** Duration of the calls of other callers during the flood. */
const CALLS_MS = 6_000;
/** Duration of the calls without a flood. */
const CALM_MS = 2_000;
/** Number of other callers. */
const CALLERS = 8;

const metric = async (name: string) => (await metricValues(service)).get(name) ?? 0;

type Call = { readonly status: number; readonly tookMs: number };

/** Calls with and without bodies for `forMs`. Returns each call's status and duration. */
async function others(id: string, forMs: number): Promise<Call[]> {
  const calls: Call[] = [];
  const endMs = performance.now() + forMs;
  const call = async (own: number): Promise<void> => {
    for (let second = 0; performance.now() < endMs; second += 1) {
      const startedMs = performance.now();
      const isRead = (second + own) % 2 === 0;
      const observation = observationAt(second, { context: { own } });
      const { status } = isRead
        ? await caller.send('GET', `/instances/${id}`)
        : await caller.send('POST', `/instances/${id}/process`, { json: observation });
      calls.push({ status, tookMs: performance.now() - startedMs });
    }
  };
  await Promise.all(Array.from({ length: CALLERS }, (_, own) => call(own)));
  return calls;
}

/** The calls' 99th percentile, in milliseconds. */
function p99Of(calls: readonly Call[]): number {
  const sorted = calls.map(({ tookMs }) => tookMs).sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length * 0.99)] ?? 0;
}

const flood = suite('9,000 requests with an invented key and an endless body');

flood('affect other callers little: at most 1 % errors, and 250 ms for 99 % of calls', async () => {
  const calm = async () => p99Of(await others(await createInstance(caller), CALM_MS));
  const beforeMs = await calm();
  const { port } = new URL(service.origin);
  const argv = ['test/support/calls/endless-bodies.ts', port, `${SOCKETS}`];
  const attacker = spawn(process.execPath, argv, { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = once(attacker, 'exit');
  try {
    await Promise.race([once(attacker.stdout, 'data'), ended]);
    const calls = await others(await createInstance(caller), CALLS_MS);
    const failed = calls.filter(({ status }) => status !== 200);
    const p99 = p99Of(calls);
    const text = `${calls.length} calls, ${failed.length} failed, 99 % within ${p99.toFixed(0)} ms`;
    assert.ok(calls.length > CALLERS, text);
    assert.ok(failed.length <= calls.length * ERRORS_MAX, text);
    assert.ok((await metric('edge_unfinished_bodies')) <= BODIES_MAX);
    assert.ok((await metric('edge_bodies_given_up_total')) > BODIES_MAX);
    assert.match(service.log(), /"address":"127.0.0.1".*too many unfinished requests/);
    attacker.kill('SIGKILL');
    await ended;
    // Calls may be slow without a flood, if other tests keep the machine busy.
    const calmMs = Math.max(beforeMs, await calm());
    assert.ok(p99 <= Math.max(P99_MS_MAX, 3 * calmMs), `${text}, ${calmMs.toFixed(0)} ms without`);
  } finally {
    attacker.kill('SIGKILL');
    await ended;
  }
});

const bound = suite('the unfinished bodies of an address');

/** Waits until `count` bodies are unfinished. */
async function unfinished(count: number): Promise<void> {
  while ((await metric('edge_unfinished_bodies')) !== count) await caller.send('GET', '/personas');
}

bound.before.each(() => unfinished(0));

bound('are limited to 256: the oldest is answered 503, and the newest is served', async () => {
  const head = requestText('POST', '/v1/instances', [auth, json, 'Content-Length: 14']);
  // Connect first: on a slow machine, requests would time out before the last connection opens.
  const dialled = await Promise.all(Array.from({ length: BODIES_MAX + 1 }, () => dial(service)));
  const [oldest, newest, ...between] = dialled;
  assert.ok(oldest && newest);
  const begin = (connection: RawConnection) => connection.write(`${head}{"name"`);
  begin(oldest);
  await unfinished(1);
  between.forEach(begin);
  await unfinished(BODIES_MAX);
  begin(newest);
  const answer = await oldest.next();
  assert.ok(answer);
  assert.is(answer.status, 503);
  assertRefusalShape(answer);
  assert.is(answer.body.details.reason, 'too_many_unfinished_bodies');
  assert.is(answer.headers.get('retry-after'), '1');
  for (const [connection, rest] of [
    [newest, ':"Ada"}'],
    [between[0], ':"Bea"}'],
  ] as const) {
    connection?.write(rest);
    const served = await connection?.next();
    assert.is(served?.status, 201, JSON.stringify(served?.body));
  }
  for (const connection of dialled) connection.socket.destroy();
});

bound(
  'hold only their received bytes, in chunks of any size, and use no request slot',
  async () => {
    using connection = await dial(service);
    const head = [auth, json, 'Transfer-Encoding: chunked'];
    connection.write(requestText('POST', '/v1/instances', head));
    connection.write('1\r\n{\r\n'.padEnd(6 * 20_000, '1\r\n \r\n'));
    let held = 0;
    while (held < 20_000) held = await metric('edge_unfinished_body_bytes');
    assert.ok(held < 40_000, `${held}`);
    assert.is(await metric('http_server_active_requests'), 0);
    connection.write('f\r\n"name":"Carla"}\r\n0\r\n\r\n');
    assert.is((await connection.next())?.status, 201);
  },
);

flood.after(close);

// The flood runs last: some of its connections reach the service after their process has ended.
for (const each of [bound, flood]) each.run();
