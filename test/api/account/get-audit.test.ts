import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { admin } from '#test/support/calls/caller';
import { assertRefused, type SceneCaller, sharedScene } from '#test/support/calls/scene';

const { service, caller, newCaller } = await sharedScene();

type Line = ReturnType<typeof JSON.parse>;

/** Audit lines that match a query, newest first. */
async function linesOf(owner: SceneCaller, query = '?limit=100'): Promise<Line[]> {
  const answer = await owner.send('GET', `/audit${query}`);
  assert.is(answer.status, 200, answer.text);
  return answer.body.data;
}

const whatOf = ({ action, target, outcome }: Line) => [action, target, outcome];

const trail = suite('the audit trail of an account');

trail('has every write to an instance, with key, address and request id', async () => {
  const owner = await newCaller();
  const id = await owner.createInstance();
  const headers = { 'x-request-id': 'my-request-1' };
  await owner.send('PATCH', `/instances/${id}`, { json: { name: 'Eve' }, headers });
  await owner.process(id, { mode_target: 'ORDER', signal_strength: 0.7 });
  await owner.send('POST', `/instances/${id}/reset`, { json: { mode: 'initial' } });
  await owner.send('DELETE', `/instances/${id}`);
  const lines = (await linesOf(owner)).filter(({ action }) => action.startsWith('instance'));
  assert.equal(lines.map(whatOf), [
    ['instance.delete', id, 'begun'],
    ['instance.reset', id, 'begun'],
    ['instance.update', id, 'begun'],
    ['instance.create', id, 'begun'],
  ]);
  const { data: account } = (await owner.send('GET', '/account')).body;
  for (const { actor, address } of lines) {
    assert.equal(actor, { kind: 'key', id: account.key.id });
    assert.is(address, '127.0.0.1');
  }
  assert.is(lines[2]?.request_id, 'my-request-1');
  assert.equal(
    lines.map(({ before, after }) => [before?.name, after?.name]),
    [
      ['Eve', undefined],
      ['Eve', undefined],
      ['Ada', 'Eve'],
      [undefined, 'Ada'],
    ],
    'the trail still has the name of a deleted instance',
  );
});

trail('has the outcome of each write that was refused or replayed', async () => {
  const owner = await newCaller();
  const gone = 'inst_00000000000000aa';
  const headers = { 'idempotency-key': 'k' };
  const { body } = await owner.send('POST', '/instances', { json: { name: 'Ada' }, headers });
  await owner.send('POST', '/instances', { json: { name: 'Ada' }, headers });
  const { id } = body.data;
  await owner.send('DELETE', `/instances/${gone}`);
  const stale = { 'if-match': '"0.0"' };
  const refused = await owner.send('DELETE', `/instances/${id}`, { headers: stale });
  assertRefused(refused, 409, 'conflict', { reason: 'version_mismatch', field: 'If-Match' });
  const lines = await linesOf(owner, '?action=instance');
  assert.equal(lines.map(whatOf), [
    ['instance.delete', id, 'conflict'],
    ['instance.delete', id, 'begun'],
    ['instance.create', id, 'repeated'],
    ['instance.create', id, 'begun'],
    ['instance.create', id, 'begun'],
  ]);
  assert.is(lines[0]?.of, `${lines[1]?.month}.${lines[1]?.seq}`);
  assert.is(lines[2]?.of, `${lines[3]?.month}.${lines[3]?.seq}`);
});

trail(
  'has the changes made by operators, with the values before and after, without keys',
  async () => {
    const owner = await newCaller();
    const path = `/accounts/${owner.accountId}`;
    const made = await admin(service, 'POST', `${path}/keys`, { scope: 'read' });
    await admin(service, 'PUT', `${path}/retention`, { retention_days: 30 });
    const [after, before] = await linesOf(owner, '?action=account.retention');
    assert.equal([after?.outcome, before?.outcome], ['done', 'begun']);
    assert.equal([before?.before.retention_days, after?.after.retention_days], [undefined, 30]);
    assert.is(after?.actor.kind, 'operator');
    const [key] = await linesOf(owner, '?action=key.create&outcome=done&limit=1');
    assert.equal([key?.target, key?.after.scope], [made.id, 'read']);
    // Lines may contain the hint of a key, but no key.
    assert.not.match(JSON.stringify(await linesOf(owner)), /svc_sk_\w/);
  },
);

trail('is read page by page, with filters in the query', async () => {
  const owner = await newCaller();
  const ids: string[] = [];
  for (let index = 0; index < 5; index += 1) ids.push(await owner.createInstance());
  const seen: string[] = [];
  let query = '?action=instance.create&limit=2';
  for (let pages = 0; pages < 5; pages += 1) {
    const { body } = await owner.send('GET', `/audit${query}`);
    seen.push(...body.data.map(({ target }: Line) => target));
    const { next_cursor: next } = body.pagination;
    if (next === null) break;
    query = `?action=instance.create&limit=2&cursor=${next}`;
  }
  assert.equal(seen, ids.toReversed());
  assert.equal((await linesOf(owner, `?target=${ids[1]}`)).map(whatOf), [
    ['instance.create', ids[1], 'begun'],
  ]);
  assert.is((await linesOf(owner, '?action=instance.&limit=100')).length, 5);
  const far = `?cursor=${new Date().toISOString().slice(0, 7)}.999999999999999&limit=1`;
  assert.is((await linesOf(owner, far)).length, 1);
  assert.equal(await linesOf(owner, '?actor=key_0000000000000000'), []);
  assert.equal(await linesOf(owner, '?until=2026-01-01T00:00:00Z'), []);
  assert.equal(await linesOf(owner, '?from=2126-01-01T00:00:00%2B02:00'), []);
});

trail('contains only lines of the key’s own account', async () => {
  const [one, other] = [await newCaller(), await newCaller()];
  const id = await one.createInstance();
  assert.equal(await linesOf(other, '?action=instance'), []);
  await other.send('DELETE', `/instances/${id}`);
  assert.is((await linesOf(one, '?action=instance.delete')).length, 0);
});

// Report 9: a key that could change instances could read the audit trail and buy plans.
trail('is shown only to keys with the scope audit, which allows nothing else', async () => {
  for (const scope of ['read', 'full', 'full billing'] as const) {
    const refused = await (await newCaller({ scope })).send('GET', '/audit');
    assertRefused(refused, 403, 'forbidden', { reason: 'missing_scope' });
  }
  const auditor = await newCaller({ scope: 'audit' });
  assert.is((await auditor.send('GET', '/audit')).status, 200);
  const { body } = await auditor.send('GET', '/account');
  assert.is(body.data.key.scope, 'audit');
  const read = await auditor.send('GET', '/instances');
  assertRefused(read, 403, 'forbidden', { reason: 'missing_scope' });
  const created = await auditor.send('POST', '/instances', { json: {} });
  assertRefused(created, 403, 'forbidden', { reason: 'read_only_key' });
});

trail('is refused with 400 for an invalid query', async () => {
  for (const [query, field] of [
    ['limit=101', 'limit'],
    ['cursor=x', 'cursor'],
    ['action=Key', 'action'],
    ['outcome=fine', 'outcome'],
    ['from=yesterday', 'from'],
  ]) {
    const answer = await caller.send('GET', `/audit?${query}`);
    assertRefused(answer, 400, 'invalid_request', { reason: 'invalid_parameter', field });
  }
});

trail.run();
