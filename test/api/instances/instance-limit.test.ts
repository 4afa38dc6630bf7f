import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { assertRefused, limitOf, sharedScene } from '#test/support/calls/scene';

const { newCaller } = await sharedScene();
const caller = await newCaller({ instances: 3 });
const create = (key?: string) =>
  caller.send('POST', '/instances', {
    json: { name: 'Ada' },
    headers: key === undefined ? {} : { 'idempotency-key': key },
  });

const limit = suite('an account with a limited number of instances');

limit(
  'is refused a create beyond the limit with 403, which costs a request and no cycle',
  async () => {
    const id = await caller.createInstance();
    const before = await create('first');
    await create();
    const refused = await create();
    assertRefused(refused, 403, 'forbidden', { reason: 'instance_limit' });
    assert.is(limitOf(refused, 'remaining'), limitOf(before, 'remaining') - 2);
    assert.is(limitOf(refused, 'monthly'), limitOf(before, 'monthly'));
    const again = await create('first');
    assert.is(again.status, 201);
    assert.is(again.headers.get('idempotent-replayed'), 'true');
    assertRefused(await create('second'), 403, 'forbidden', { reason: 'instance_limit' });
    assert.is((await caller.send('DELETE', `/instances/${id}`)).status, 200);
    assert.is((await create('second')).status, 201);
    assertRefused(await create(), 403, 'forbidden', { reason: 'instance_limit' });
  },
);

limit('creates exactly as many instances as the limit allows in 20 parallel calls', async () => {
  const other = await newCaller({ instances: 5 });
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => other.send('POST', '/instances', { json: { name: 'Ada' } })),
  );
  assert.is(answers.filter(({ status }) => status === 201).length, 5);
  assert.is((await other.send('GET', '/instances')).body.pagination.total, 5);
});

limit.run();
