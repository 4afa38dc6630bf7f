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

const usedUp = suite('a keyed call when the quota is used up');

usedUp('is replayed with 200 if it was answered before, otherwise refused with 429', async () => {
  const poor = await newCaller({ cyclesPerMonth: 2 });
  const id = await poor.createInstance();
  const path = `/instances/${id}/process/batch`;
  const observations = [observationAt(0), observationAt(1)];
  const call = { method: 'POST', path, json: { observations } };
  const key = newKey();
  const first = await sendKeyed(poor, call, key);
  assert.is(limitOf(first, 'monthly'), 0);
  const again = await sendKeyed(poor, call, key);
  assertReplayed(again, first);
  assert.is(limitOf(again, 'monthly'), 0);
  assert.is(limitOf(again, 'remaining'), limitOf(first, 'remaining') - 1);
  const later = { ...call, json: { observations: [observationAt(5)] } };
  assertRefused(await sendKeyed(poor, later, newKey()), 429, 'quota_exceeded');
  assert.is((await poor.send('GET', `/instances/${id}`)).body.data.cycle_count, 2);
});

usedUp('with another body under a known key is refused with 429', async () => {
  const poor = await newCaller({ cyclesPerMonth: 1 });
  const id = await poor.createInstance();
  const path = `/instances/${id}/process`;
  const key = newKey();
  await sendKeyed(poor, { method: 'POST', path, json: observationAt(0) }, key);
  const other = await sendKeyed(poor, { method: 'POST', path, json: observationAt(9) }, key);
  assertRefused(other, 429, 'quota_exceeded');
  assert.is((await poor.send('GET', `/instances/${id}`)).body.data.cycle_count, 1);
});

const created = suite('a keyed create');

created('gets the same Location when it is sent again', async () => {
  const call = { method: 'POST', path: '/instances', json: { name: 'x' } };
  const key = newKey();
  const first = await sendKeyed(caller, call, key);
  const again = await sendKeyed(caller, call, key);
  assert.is(again.status, 201);
  assert.is(again.headers.get('location'), `/v1/instances/${first.body.data.id}`);
});

created('repeated after its instance was deleted is answered 409', async () => {
  const call = { method: 'POST', path: '/instances', json: { name: 'x' } };
  for (const key of [newKey(), uuidV7()]) {
    const first = await sendKeyed(caller, call, key);
    await caller.send('DELETE', `/instances/${first.body.data.id}`);
    for (let i = 0; i < 2; i += 1) {
      const again = await sendKeyed(caller, call, key);
      assertRefused(again, 409, 'conflict', { reason: 'deleted' });
    }
  }
});

const spelled = suite('an Idempotency-Key');

spelled('of 1 to 255 characters is accepted', async () => {
  for (const key of ['k', 'k'.repeat(255)]) {
    const call = { method: 'POST', path: '/instances', json: { name: 'x' } };
    const first = await sendKeyed(caller, call, key);
    assertReplayed(await sendKeyed(caller, call, key), first);
  }
});

for (const [what, key] of Object.entries({
  'is empty': '',
  'has 256 characters': 'k'.repeat(256),
  'is not ASCII': 'kéy',
  'has a tab': 'a\tb',
})) {
  spelled(`that ${what} is answered 400 by all four keyed endpoints`, async () => {
    for (const call of await keyedCalls(caller)) {
      const details = { field: 'Idempotency-Key', reason: 'invalid_header' };
      const answer = await sendKeyed(caller, call, key);
      assertRefused(answer, 400, 'invalid_request', details);
    }
  });
}

spelled('is ignored by GET, PATCH and DELETE', async () => {
  const headers = { 'idempotency-key': 'k'.repeat(256) };
  const id = await caller.createInstance();
  assert.is((await caller.send('GET', `/instances/${id}`, { headers })).status, 200);
  const patched = await caller.send('PATCH', `/instances/${id}`, { json: { name: 'y' }, headers });
  assert.is(patched.status, 200);
  assert.is((await caller.send('DELETE', `/instances/${id}`, { headers })).status, 200);
});

for (const each of [usedUp, created, spelled]) each.run();
