import { once } from 'node:events';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type Answer, admin, newCaller, send } from '#test/support/calls/caller';
import {
  assertRefused,
  createInstance,
  limitOf,
  newDocumentedCaller,
  observationAt,
} from '#test/support/calls/scene';
import { startProcesses } from '#test/support/servers/service';

/** Maximum time until the edge refuses a call, in milliseconds. The limiter timeout is 300 ms. */
const PROMPT_MS = 2_000;

const service = await startProcesses({ SERVICE_LIMITER_TIMEOUT_MS: '300' });
const LIMITS = { requestsPerMinute: 1_000, cyclesPerMonth: 50 };
const account = () => newDocumentedCaller(service, LIMITS);
const nowS = () => Date.now() / 1_000;

function signal(name: string, what: 'SIGSTOP' | 'SIGCONT' | 'SIGKILL'): void {
  const child = service.processes.get(name);
  if (child === undefined) throw new Error(`there is no process ${name}`);
  child.kill(what);
}

async function exitOf(name: string): Promise<void> {
  const child = service.processes.get(name);
  if (child?.exitCode === null && child.signalCode === null) await once(child, 'exit');
}

/** Asserts the counts of a call that used `cycles`. */
function assertNext(answer: Answer, previous: Answer, cycles: number): void {
  assert.is(limitOf(answer, 'limit'), limitOf(previous, 'limit'));
  assert.is(limitOf(answer, 'reset'), limitOf(previous, 'reset'));
  assert.is(limitOf(answer, 'remaining'), limitOf(previous, 'remaining') - 1);
  assert.is(limitOf(answer, 'monthly'), limitOf(previous, 'monthly') - cycles);
}

const limiter = suite('while the limiter does not answer');

limiter('a call gets 503 in time, with the last known limits and remaining 0', async () => {
  const someone = await account();
  const before = await someone.send('GET', '/personas');
  const stranger = await newCaller(service);
  signal('limiter', 'SIGSTOP');
  const startedMs = performance.now();
  const answer = await someone.send('GET', '/personas');
  const unknown = await stranger.send('GET', '/personas');
  const tookMs = performance.now() - startedMs;
  signal('limiter', 'SIGCONT');
  assert.ok(tookMs < PROMPT_MS, `took ${tookMs} ms`);
  assert.is(answer.status, 503);
  assert.is(answer.body.details.reason, 'limiter_unavailable');
  assert.is(answer.headers.get('retry-after'), '2');
  assert.is(limitOf(answer, 'limit'), limitOf(before, 'limit'));
  assert.is(limitOf(answer, 'remaining'), 0);
  assert.is(limitOf(answer, 'monthly'), 50);
  assert.ok(Math.abs(limitOf(answer, 'reset') - nowS() - 2) < 2);
  assert.equal([limitOf(unknown, 'limit'), limitOf(unknown, 'monthly')], [0, 0]);
  assert.is(unknown.headers.get('ratelimit'), null);
});

limiter('calls get 200 once the limiter answers again', async () => {
  const someone = await account();
  const deadlineMs = performance.now() + 5_000;
  while ((await someone.send('GET', '/personas')).status !== 200) {
    assert.ok(performance.now() < deadlineMs, 'the edge does not reconnect to the limiter');
  }
});

const engine = suite('when the engine dies');

engine('a call in flight gets 503, and its cycle is charged once', async () => {
  const someone = await account();
  const id = await createInstance(someone);
  const before = await someone.send('GET', '/personas');
  signal('engine', 'SIGSTOP');
  const sent = { json: observationAt(0), headers: { 'idempotency-key': 'in its hands' } };
  const pending = someone.send('POST', `/instances/${id}/process`, sent);
  const usage = `/accounts/${someone.accountId}/usage`;
  while ((await admin(service, 'GET', usage)).cycles_reserved === 0);
  // An answered second call proves that the edge has sent the first call.
  await someone.send('GET', '/personas');
  signal('engine', 'SIGKILL');
  const answer = await pending;
  assert.is(answer.status, 503, answer.text);
  assert.is(answer.headers.get('retry-after'), '1');
  assert.is(limitOf(answer, 'limit'), 1_000);
  assert.is(limitOf(answer, 'monthly'), limitOf(before, 'monthly') - 1);
  const retried = await someone.send('POST', `/instances/${id}/process`, sent);
  assert.is(retried.status, 503);
  assert.is(limitOf(retried, 'monthly'), limitOf(answer, 'monthly'), 'a second reservation');
});

engine('later calls get 503 immediately, and their cycles are refunded', async () => {
  const someone = await account();
  const before = await someone.send('GET', '/personas');
  const unknown = '/instances/inst_0123456789abcdef';
  let previous = before;
  for (const [method, path, json] of [
    ['POST', `${unknown}/process`, observationAt(0)],
    ['POST', '/instances', { name: 'x' }],
    ['GET', unknown, undefined],
    ['GET', '/instances', undefined],
  ] as const) {
    const startedMs = performance.now();
    const headers = { 'x-request-id': 'engine-is-gone' };
    const answer = await someone.send(method, path, { ...(json && { json }), headers });
    assert.ok(performance.now() - startedMs < PROMPT_MS, `${path} took too long`);
    const details = { reason: 'engine_unavailable', request_id: 'engine-is-gone' };
    assertRefused(answer, 503, 'service_unavailable', details);
    assert.is(answer.headers.get('retry-after'), '1');
    assertNext(answer, previous, 0);
    previous = answer;
  }
});

engine('calls that need no engine get 200', async () => {
  const someone = await account();
  for (const path of ['/personas', '/personas/persona_leader', '/test/questions']) {
    assert.is((await someone.send('GET', path)).status, 200);
  }
});

const dead = suite('when the limiter is dead');

dead('every call gets 503 in time, because the edge fails closed', async () => {
  const someone = await account();
  const before = await someone.send('GET', '/personas');
  signal('limiter', 'SIGKILL');
  await exitOf('limiter');
  for (const path of ['/personas', '/instances', '/nowhere', '/instances?limit=x']) {
    const startedMs = performance.now();
    const headers = { 'x-request-id': 'limiter-is-gone' };
    const answer = await someone.send('GET', path, { headers });
    assert.ok(performance.now() - startedMs < PROMPT_MS, `${path} took too long`);
    const details = { reason: 'limiter_unavailable', request_id: 'limiter-is-gone' };
    assertRefused(answer, 503, 'service_unavailable', details);
    assert.is(answer.headers.get('retry-after'), '2');
    assert.is(limitOf(answer, 'limit'), limitOf(before, 'limit'));
    assert.is(limitOf(answer, 'remaining'), 0);
    assert.is(limitOf(answer, 'monthly'), limitOf(before, 'monthly'));
  }
});

dead('a caller without a key gets 401 as before', async () => {
  assertRefused(await send(service, 'GET', '/personas'), 401, 'unauthorized');
});

dead.after(async () => service[Symbol.asyncDispose]());

for (const each of [limiter, engine, dead]) each.run();
