import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { assertRefused, limitOf, observationAt, sharedScene } from '#test/support/calls/scene';

const { caller } = await sharedScene();

const strict = suite('a caller that prefers strict handling');

/** Creates an instance whose last observation was at second 10. */
async function instanceAt10() {
  const id = await caller.createInstance();
  await caller.process(id, observationAt(10));
  const send = (prefer: string, seconds: number) =>
    caller.send('POST', `/instances/${id}/process`, {
      json: observationAt(seconds),
      headers: { prefer },
    });
  return { id, send };
}

strict('gets 429 with retry_after for an early observation', async () => {
  const { send } = await instanceAt10();
  for (const [seconds, wait] of [
    [10, 1],
    [10.999, 1],
    [9.999, 2],
    [0, 11],
  ] as const) {
    const answer = await send('handling=strict', seconds);
    assertRefused(answer, 429, 'throttled', { reason: 'min_cycle_interval' });
    assert.is(answer.body.retry_after, wait);
    assert.is(answer.headers.get('retry-after'), String(wait));
    assert.is(answer.headers.get('preference-applied'), 'handling=strict');
    assert.is(answer.headers.get('x-throttled'), null);
  }
});

strict('is charged no cycle for an early observation', async () => {
  const { id, send } = await instanceAt10();
  const before = await caller.send('GET', `/instances/${id}`);
  const after = await send('handling=strict', 10);
  assert.is(limitOf(after, 'monthly'), limitOf(before, 'monthly'));
  assert.is(limitOf(after, 'remaining'), limitOf(before, 'remaining') - 1);
});

strict('is answered 200 like other callers if the observation is not early', async () => {
  const { send } = await instanceAt10();
  const answer = await send('handling=strict', 11);
  assert.is(answer.status, 200);
  assert.is(answer.headers.get('preference-applied'), null);
});

strict('may spell the preference in any way of RFC 7240', async () => {
  const { send } = await instanceAt10();
  for (const prefer of [
    'Handling=strict',
    'handling="strict"',
    'respond-async, handling=strict',
    'handling=strict; foo=bar',
    'handling = strict',
  ]) {
    assert.is((await send(prefer, 10)).status, 429, prefer);
  }
});

const other = suite('a caller that does not prefer strict handling');

other('is answered 200 for an early observation, which is throttled', async () => {
  const { send } = await instanceAt10();
  for (const prefer of ['handling=lenient', 'strict', 'handling', 'x-handling=strict', '']) {
    const answer = await send(prefer, 10);
    assert.is(answer.status, 200, prefer);
    assert.is(answer.headers.get('x-throttled'), 'true', prefer);
  }
});

const minimal = suite('a caller that prefers a minimal return');

minimal('gets 204 for a deletion', async () => {
  const id = await caller.createInstance();
  const headers = { prefer: 'return=minimal' };
  const answer = await caller.send('DELETE', `/instances/${id}`, { headers });
  assert.is(answer.status, 204);
  assert.is(answer.text, '');
  assert.is(answer.headers.get('preference-applied'), 'return=minimal');
  assert.is(answer.headers.get('content-type'), null);
  assertRefused(await caller.send('GET', `/instances/${id}`), 404, 'not_found');
});

minimal('gets 404 with its body for an instance that does not exist', async () => {
  const headers = { prefer: 'return=minimal' };
  const answer = await caller.send('DELETE', '/instances/inst_0123456789abcdef', { headers });
  assertRefused(answer, 404, 'not_found');
});

minimal('gets the whole answer from all other endpoints', async () => {
  const headers = { prefer: 'return=minimal' };
  const made = await caller.send('POST', '/instances', { json: { name: 'x' }, headers });
  assert.is(made.status, 201);
  const patched = await caller.send('PATCH', `/instances/${made.body.data.id}`, {
    json: { name: 'y' },
    headers,
  });
  assert.is(patched.body.data.name, 'y');
  assert.is(patched.headers.get('preference-applied'), null);
});

minimal('gets 200 for a deletion if it prefers return=representation instead', async () => {
  const id = await caller.createInstance();
  const headers = { prefer: 'return=representation' };
  const answer = await caller.send('DELETE', `/instances/${id}`, { headers });
  assert.is(answer.status, 200);
});

for (const each of [strict, other, minimal]) each.run();
