import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  assertReplayed,
  keyedCalls,
  newKey,
  sendKeyed,
  uuidV7,
} from '#test/support/calls/keyed-calls';
import { assertRefused, limitOf, observationAt, sharedScene } from '#test/support/calls/scene';

const { caller, newCaller } = await sharedScene();
const REUSED = { field: 'Idempotency-Key', reason: 'idempotency_key_reused' };

const retried = suite('a call with an Idempotency-Key that is sent again');

for (const [kind, make] of Object.entries({ 'a UUIDv7': () => uuidV7(), 'any text': newKey })) {
  retried(`under ${kind} is answered with the same bytes, and marked as replayed`, async () => {
    for (const call of await keyedCalls(caller)) {
      const key = make();
      const first = await sendKeyed(caller, call, key);
      assertReplayed(await sendKeyed(caller, call, key), first);
      assertReplayed(await sendKeyed(caller, call, key), first);
    }
  });
}

retried('under an old or future UUIDv7 is replayed as well', async () => {
  for (const atMs of [0, Date.now() - 3_600_000, Date.now() + 3_600_000]) {
    const [, call] = await keyedCalls(caller);
    if (call === undefined) throw new Error('the second call is missing');
    const key = uuidV7(atMs);
    const first = await sendKeyed(caller, call, key);
    assertReplayed(await sendKeyed(caller, call, key), first);
  }
});

retried('costs one cycle and two requests in total', async () => {
  const id = await caller.createInstance();
  const call = { method: 'POST', path: `/instances/${id}/process`, json: observationAt(0) };
  const key = newKey();
  const first = await sendKeyed(caller, call, key);
  const again = await sendKeyed(caller, call, key);
  assert.is(limitOf(again, 'monthly'), limitOf(first, 'monthly'));
  assert.is(limitOf(again, 'remaining'), limitOf(first, 'remaining') - 1);
  assert.is((await caller.send('GET', `/instances/${id}`)).body.data.cycle_count, 1);
});

retried('is answered as before, however the instance has changed since', async () => {
  const id = await caller.createInstance();
  const call = { method: 'POST', path: `/instances/${id}/process`, json: observationAt(0) };
  const key = newKey();
  const first = await sendKeyed(caller, call, key);
  await caller.process(id, observationAt(10));
  await caller.send('PATCH', `/instances/${id}`, { json: { name: 'other' } });
  await caller.send('POST', `/instances/${id}/reset`, { json: { mode: 'initial' } });
  assertReplayed(await sendKeyed(caller, call, key), first);
});

retried('during the first call waits and gets the first call’s answer', async () => {
  const id = await caller.createInstance();
  const observations = Array.from({ length: 100 }, (_, index) => observationAt(index));
  const json = { observations, include_intermediate: true };
  const call = { method: 'POST', path: `/instances/${id}/process/batch`, json };
  const before = limitOf(await caller.send('GET', '/personas'), 'monthly');
  const key = newKey();
  const answers = await Promise.all([1, 2, 3, 4, 5].map(() => sendKeyed(caller, call, key)));
  assert.is(new Set(answers.map(({ text }) => text)).size, 1);
  const replayed = answers.filter(({ headers }) => headers.has('idempotent-replayed'));
  assert.is(replayed.length, 4);
  const after = await caller.send('GET', `/instances/${id}`);
  assert.is(after.body.data.cycle_count, 100);
  assert.is(limitOf(after, 'monthly'), before - 100);
});

retried('many times in parallel creates one instance', async () => {
  const someone = await newCaller();
  const call = { method: 'POST', path: '/instances', json: { name: 'once' } };
  const key = newKey();
  const answers = await Promise.all([1, 2, 3, 4, 5].map(() => sendKeyed(someone, call, key)));
  assert.is(new Set(answers.map(({ text }) => text)).size, 1);
  assert.is((await someone.send('GET', '/instances')).body.pagination.total, 1);
});

retried('without its key is a new call', async () => {
  const someone = await newCaller();
  const call = { method: 'POST', path: '/instances', json: { name: 'x' } };
  await sendKeyed(someone, call, newKey());
  await someone.send(call.method, call.path, { json: call.json });
  assert.is((await someone.send('GET', '/instances')).body.pagination.total, 2);
});

const reused = suite('an Idempotency-Key that is reused for something else');

reused('with another body is answered 422 and changes nothing', async () => {
  const id = await caller.createInstance();
  const path = `/instances/${id}/process`;
  const key = newKey();
  await sendKeyed(caller, { method: 'POST', path, json: observationAt(0) }, key);
  const before = limitOf(await caller.send('GET', '/personas'), 'monthly');
  const other = await sendKeyed(caller, { method: 'POST', path, json: observationAt(60) }, key);
  assertRefused(other, 422, 'invalid_request', REUSED);
  assert.is(limitOf(other, 'monthly'), before);
  assert.is((await caller.send('GET', `/instances/${id}`)).body.data.cycle_count, 1);
});

reused('at another path of the same instance is answered 422', async () => {
  const id = await caller.createInstance();
  const key = newKey();
  const json = { mode: 'initial' };
  await sendKeyed(caller, { method: 'POST', path: `/instances/${id}/reset`, json }, key);
  const path = `/instances/${id}/process`;
  const other = await sendKeyed(caller, { method: 'POST', path, json: observationAt(0) }, key);
  assertRefused(other, 422, 'invalid_request', REUSED);
});

reused('for another create is answered 422', async () => {
  const key = newKey();
  const path = '/instances';
  await sendKeyed(caller, { method: 'POST', path, json: { name: 'one' } }, key);
  const other = await sendKeyed(caller, { method: 'POST', path, json: { name: 'two' } }, key);
  assertRefused(other, 422, 'invalid_request', REUSED);
});

reused('on another instance, or by another account, is a new call: 200', async () => {
  const key = newKey();
  const other = await newCaller();
  for (const who of [caller, caller, other]) {
    const path = `/instances/${await who.createInstance()}/process`;
    const answer = await sendKeyed(who, { method: 'POST', path, json: observationAt(0) }, key);
    assert.is(answer.status, 200);
    assert.is(answer.headers.get('idempotent-replayed'), null);
  }
});

reused('first for a create and then on the created instance identifies two calls', async () => {
  const key = newKey();
  const made = await sendKeyed(
    caller,
    { method: 'POST', path: '/instances', json: { name: 'x' } },
    key,
  );
  const path = `/instances/${made.body.data.id}/process`;
  const answer = await sendKeyed(caller, { method: 'POST', path, json: observationAt(0) }, key);
  assert.is(answer.status, 200);
  assert.is(answer.body.data.snapshot.cycle, 1);
});

reused('for another account’s create creates another instance', async () => {
  const key = newKey();
  const call = { method: 'POST', path: '/instances', json: { name: 'x' } };
  const mine = await sendKeyed(caller, call, key);
  const theirs = await sendKeyed(await newCaller(), call, key);
  assert.is.not(mine.body.data.id, theirs.body.data.id);
});

const unstored = suite('an answer that is not a committed success');

unstored('is not stored: a refused call can be corrected under its key', async () => {
  const id = await caller.createInstance();
  const path = `/instances/${id}/process`;
  const key = newKey();
  const wrong = observationAt(0, { signal_strength: 2 });
  assert.is((await sendKeyed(caller, { method: 'POST', path, json: wrong }, key)).status, 422);
  const right = await sendKeyed(caller, { method: 'POST', path, json: observationAt(0) }, key);
  assert.is(right.status, 200);
  assert.is(right.headers.get('idempotent-replayed'), null);
});

unstored('is not replayed: a throttled observation is accepted later', async () => {
  const id = await caller.createInstance();
  await caller.process(id, observationAt(10));
  const path = `/instances/${id}/process`;
  const call = { method: 'POST', path, json: observationAt(10.5) };
  const key = newKey();
  for (let i = 0; i < 2; i += 1) {
    const throttled = await sendKeyed(caller, call, key);
    assert.is(throttled.headers.get('x-throttled'), 'true');
    assert.is(throttled.headers.get('idempotent-replayed'), null);
  }
  await caller.send('POST', `/instances/${id}/reset`, { json: { mode: 'initial' } });
  const accepted = await sendKeyed(caller, call, key);
  assert.is(accepted.headers.get('x-throttled'), null);
  assert.is(accepted.body.data.snapshot.cycle, 1);
});

unstored('is not replayed: after a mismatch the call succeeds with the new tag', async () => {
  const id = await caller.createInstance();
  const path = `/instances/${id}/reset`;
  const headers = { 'idempotency-key': newKey() };
  const json = { mode: 'initial' };
  const stale = { ...headers, 'if-match': '"snap_0000000000000000"' };
  assert.is((await caller.send('POST', path, { json, headers: stale })).status, 409);
  assert.is((await caller.send('POST', path, { json, headers })).status, 200);
});

unstored('is not replayed: a call on an unknown instance is 404 every time', async () => {
  const path = '/instances/inst_0123456789abcdef/process';
  const key = newKey();
  for (let i = 0; i < 2; i += 1) {
    const answer = await sendKeyed(caller, { method: 'POST', path, json: observationAt(0) }, key);
    assertRefused(answer, 404, 'not_found');
  }
});

for (const each of [retried, reused, unstored]) each.run();
