import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type Answer, admin, callerOf } from '#test/support/calls/caller';
import { limitOf, observationAt, sharedScene } from '#test/support/calls/scene';

const { service, caller, newCaller } = await sharedScene();
const statusesOf = (answers: readonly Answer[]) => answers.map(({ status }) => status);
const times = <Value>(count: number, make: (index: number) => Value) =>
  Array.from({ length: count }, (_, index) => make(index));

const edits = suite('two concurrent changes under one ETag');

edits('are answered 200 and 409, and the change with 200 is stored', async () => {
  for (let round = 0; round < 10; round += 1) {
    const id = await caller.createInstance();
    const etag = (await caller.send('GET', `/instances/${id}`)).headers.get('etag') ?? '';
    const answers = await Promise.all(
      ['first', 'second'].map((name) =>
        caller.send('PATCH', `/instances/${id}`, { json: { name }, headers: { 'if-match': etag } }),
      ),
    );
    assert.equal(statusesOf(answers).toSorted(), [200, 409]);
    const winner = answers.find(({ status }) => status === 200);
    const { name } = (await caller.send('GET', `/instances/${id}`)).body.data;
    assert.is(name, winner?.body.data.name);
  }
});

const resets = suite('two concurrent resets');

resets('are both answered 200, and the instance is as after one reset', async () => {
  const id = await caller.createInstance();
  await caller.process(id, observationAt(0));
  const reset = () => caller.send('POST', `/instances/${id}/reset`, { json: { mode: 'initial' } });
  assert.equal(statusesOf(await Promise.all([reset(), reset()])), [200, 200]);
  const { data } = (await caller.send('GET', `/instances/${id}`)).body;
  assert.equal([data.cycle_count, data.energy_level, data.stress_state], [0, 0.8, 'LOW']);
});

resets('under one ETag are answered 200 and 409', async () => {
  const id = await caller.createInstance();
  await caller.process(id, observationAt(0));
  const etag = (await caller.send('GET', `/instances/${id}`)).headers.get('etag') ?? '';
  const sent = { json: { mode: 'initial' }, headers: { 'if-match': etag } };
  const reset = () => caller.send('POST', `/instances/${id}/reset`, sent);
  assert.equal(statusesOf(await Promise.all([reset(), reset()])).toSorted(), [200, 409]);
});

const deletes = suite('deleting an instance while it processes observations');

deletes(
  'answers every observation 200 or 404, and charges only processed observations',
  async () => {
    const mine = await newCaller({ cyclesPerMonth: 10_000 });
    const id = await mine.createInstance();
    const observe = (index: number) =>
      mine.send('POST', `/instances/${id}/process`, { json: observationAt(index) });
    const remove = () => mine.send('DELETE', `/instances/${id}`);
    const answers = await Promise.all([
      ...times(10, observe),
      remove(),
      remove(),
      ...times(10, (index) => observe(10 + index)),
    ]);
    const removals = statusesOf(answers.slice(10, 12)).toSorted();
    assert.equal(removals, [200, 404]);
    const observed = [...answers.slice(0, 10), ...answers.slice(12)];
    assert.ok(observed.every(({ status }) => status === 200 || status === 404));
    const counted = observed.filter((answer) => isCycle(answer)).length;
    const after = await mine.send('GET', `/instances/${id}`);
    assert.is(after.status, 404);
    assert.is(limitOf(after, 'monthly'), 10_000 - counted);
  },
);

const many = suite('concurrent observations of one instance');

many('advance the instance by one cycle each, unless throttled', async () => {
  const mine = await newCaller({ cyclesPerMonth: 10_000 });
  const id = await mine.createInstance();
  const answers = await Promise.all(
    times(100, (index) =>
      mine.send('POST', `/instances/${id}/process`, { json: observationAt(index * 2) }),
    ),
  );
  assert.ok(answers.every(({ status }) => status === 200));
  const cycles = answers.filter(isCycle).map(({ body }) => body.data.snapshot.cycle);
  assert.equal(
    cycles.toSorted((a, b) => a - b),
    times(cycles.length, (index) => index + 1),
  );
  const after = await mine.send('GET', `/instances/${id}`);
  assert.is(after.body.data.cycle_count, cycles.length);
  assert.is(limitOf(after, 'monthly'), 10_000 - cycles.length);
});

many('under one Idempotency-Key advance one cycle and get the same answer', async () => {
  const mine = await newCaller({ cyclesPerMonth: 10_000 });
  const id = await mine.createInstance();
  const sent = { json: observationAt(0), headers: { 'idempotency-key': 'the-same' } };
  const answers = await Promise.all(
    times(20, () => mine.send('POST', `/instances/${id}/process`, sent)),
  );
  assert.equal(new Set(answers.map(({ text }) => text)).size, 1);
  const first = answers.filter(({ headers }) => headers.get('idempotent-replayed') === null);
  assert.is(first.length, 1);
  const after = await mine.send('GET', `/instances/${id}`);
  assert.equal([after.body.data.cycle_count, limitOf(after, 'monthly')], [1, 9_999]);
});

const quotas = suite('parallel calls near a limit');

quotas(
  'with 7 observations each use 98 of 100 remaining cycles, and the others are refused',
  async () => {
    const mine = await newCaller({ cyclesPerMonth: 100 });
    const observations = times(7, (index) => observationAt(index));
    const batchesOf = await Promise.all(times(50, () => mine.createInstance()));
    const answers = await Promise.all(
      batchesOf.map((id) =>
        mine.send('POST', `/instances/${id}/process/batch`, { json: { observations } }),
      ),
    );
    const accepted = answers.filter(({ status }) => status === 200);
    const refused = answers.filter(({ status }) => status !== 200);
    assert.is(accepted.length, 14);
    assert.ok(
      refused.every(({ status, body }) => status === 429 && body.error === 'quota_exceeded'),
    );
    const { data } = (await mine.send('GET', '/instances?limit=100')).body;
    const cycles = data.reduce(
      (sum: number, row: { cycle_count: number }) => sum + row.cycle_count,
      0,
    );
    assert.is(cycles, 98);
    const after = await mine.send('GET', '/instances');
    assert.is(limitOf(after, 'monthly'), 2);
  },
);

quotas('with one observation each use exactly the 20 remaining cycles', async () => {
  const mine = await newCaller({ cyclesPerMonth: 20 });
  const instances = await Promise.all(times(50, () => mine.createInstance()));
  const answers = await Promise.all(
    instances.map((id) =>
      mine.send('POST', `/instances/${id}/process`, { json: observationAt(0) }),
    ),
  );
  assert.is(answers.filter(({ status }) => status === 200).length, 20);
  assert.is(answers.filter(({ status }) => status === 429).length, 30);
});

quotas('succeed exactly 30 times with a limit of 30 requests per minute', async () => {
  const mine = await newCaller({ requestsPerMinute: 30 });
  const answers = await Promise.all(times(80, () => mine.send('GET', '/personas')));
  assert.is(answers.filter(({ status }) => status === 200).length, 30);
  assert.is(answers.filter(({ body }) => body.error === 'rate_limited').length, 50);
});

const revocations = suite('a key that is revoked while it is in use');

revocations('is answered 200 before and 401 after the revocation, and nothing else', async () => {
  const path = `/accounts/${caller.accountId}/keys`;
  const { id, key } = await admin(service, 'POST', path, { scope: 'full' });
  const user = callerOf(service, caller.accountId, key);
  const instance = await caller.createInstance();
  let revoked: Promise<unknown> | undefined;
  const statuses: number[] = [];
  // Fewer refused keys than the number that blocks an address (decision 159).
  for (let i = 0; i < 48; i += 1) {
    if (i === 20) revoked = admin(service, 'DELETE', `${path}/${id}`);
    if (i === 30) await revoked;
    const json = observationAt(i);
    statuses.push((await user.send('POST', `/instances/${instance}/process`, { json })).status);
  }
  assert.ok(statuses.slice(0, 20).every((status) => status === 200));
  assert.ok(statuses.slice(30).every((status) => status === 401));
  assert.equal(statuses, statuses.toSorted(), 'a call succeeds after a refused call');
  const { data } = (await caller.send('GET', `/instances/${instance}`)).body;
  assert.is(data.cycle_count, statuses.filter((status) => status === 200).length);
});

for (const each of [edits, resets, deletes, many, quotas, revocations]) each.run();

/** Whether an answer reports a completed cycle: neither refused nor throttled. */
function isCycle({ status, headers }: Answer): boolean {
  return status === 200 && headers.get('x-throttled') === null;
}
