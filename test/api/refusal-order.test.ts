import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { admin, callerOf, newKey, send } from '#test/support/calls/caller';
import { assertRefused, limitOf, observationAt, openScene } from '#test/support/calls/scene';

const { service, caller, newCaller, close } = await openScene();
const INVALID = { mode_target: 'ORDER' };
const UNKNOWN = '/instances/inst_0123456789abcdef';
const STALE = { 'if-match': '"snap_0000000000000000"' };

const order = suite('a call with more than one error');

order('without a key is answered 401, whatever its body and path', async () => {
  for (const path of [`${UNKNOWN}/process`, '/nowhere']) {
    const answer = await send(service, 'POST', path, { json: INVALID });
    assertRefused(answer, 401, 'unauthorized');
  }
});

order('with a read-only key and a broken body is answered 403', async () => {
  const key = await newKey(service, caller.accountId, 'read');
  const reader = callerOf(service, caller.accountId, key);
  const answer = await reader.send('POST', `${UNKNOWN}/process`, { json: INVALID });
  assertRefused(answer, 403, 'forbidden', { reason: 'read_only_key' });
});

order('of a suspended account with a broken body is answered 403', async () => {
  const someone = await newCaller();
  const path = `/accounts/${someone.accountId}/status`;
  await admin(service, 'PUT', path, { status: 'suspended' });
  const answer = await someone.send('POST', `${UNKNOWN}/process`, { json: INVALID });
  assertRefused(answer, 403, 'forbidden', { reason: 'account_suspended' });
});

order('beyond the requests of a minute with a broken body is answered 429', async () => {
  const someone = await newCaller({ requestsPerMinute: 1 });
  await someone.send('GET', '/personas');
  const answer = await someone.send('POST', `${UNKNOWN}/process`, { json: INVALID });
  assert.is(answer.body.error, 'rate_limited');
});

order('with a broken body is answered 422, even if the month is used up', async () => {
  const poor = await newCaller({ cyclesPerMonth: 1 });
  const id = await poor.createInstance();
  await poor.process(id, observationAt(0));
  const answer = await poor.send('POST', `/instances/${id}/process`, { json: INVALID });
  assert.is(answer.status, 422);
});

order('on an unknown instance is answered 429 if the month is used up', async () => {
  const poor = await newCaller({ cyclesPerMonth: 1 });
  await poor.process(await poor.createInstance(), observationAt(0));
  const answer = await poor.send('POST', `${UNKNOWN}/process`, { json: observationAt(5) });
  assertRefused(answer, 429, 'quota_exceeded');
});

order('with a broken body on an unknown instance is answered 422', async () => {
  const answer = await caller.send('POST', `${UNKNOWN}/process`, { json: INVALID });
  assert.is(answer.status, 422);
});

order('with a stale tag on an unknown instance is answered 404', async () => {
  const answer = await caller.send('PATCH', UNKNOWN, { json: { name: 'x' }, headers: STALE });
  assertRefused(answer, 404, 'not_found');
});

order('with a broken body and a stale tag is answered 422', async () => {
  const id = await caller.createInstance();
  const sent = { json: { name: '' }, headers: STALE };
  assert.is((await caller.send('PATCH', `/instances/${id}`, sent)).status, 422);
});

order('on an unknown instance gets its reserved cycles refunded', async () => {
  const someone = await newCaller({ cyclesPerMonth: 2 });
  for (let i = 0; i < 5; i += 1) {
    const answer = await someone.send('POST', `${UNKNOWN}/process`, { json: observationAt(0) });
    assertRefused(answer, 404, 'not_found');
    assert.is(limitOf(answer, 'monthly'), 2);
  }
});

order('with a stored answer and a stale tag is replayed: 200', async () => {
  const id = await caller.createInstance();
  const tag = (await caller.send('GET', `/instances/${id}`)).headers.get('etag') ?? '';
  const headers = { 'idempotency-key': 'guarded reset', 'if-match': tag };
  const sent = { json: { mode: 'initial' }, headers };
  const first = await caller.send('POST', `/instances/${id}/reset`, sent);
  const again = await caller.send('POST', `/instances/${id}/reset`, sent);
  assert.is(first.status, 200);
  assert.is(again.headers.get('idempotent-replayed'), 'true');
  assert.is(again.text, first.text);
});

order('with a stored answer and an early time is replayed: 200 and not throttled', async () => {
  const id = await caller.createInstance();
  const sent = { json: observationAt(0), headers: { 'idempotency-key': 'early' } };
  await caller.send('POST', `/instances/${id}/process`, sent);
  const again = await caller.send('POST', `/instances/${id}/process`, sent);
  assert.is(again.headers.get('idempotent-replayed'), 'true');
  assert.is(again.headers.get('x-throttled'), null);
});

order.after(close);

order.run();
