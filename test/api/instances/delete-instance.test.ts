import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { assertRefused, observationAt, sharedScene } from '#test/support/calls/scene';

const { caller, newCaller } = await sharedScene();
const remove = (id: string) => caller.send('DELETE', `/instances/${id}`);

const deleting = suite('deleting an instance');

deleting('is answered 200 with the id of the instance', async () => {
  const id = await caller.createInstance();
  const answer = await remove(id);
  assert.is(answer.status, 200);
  assert.equal(answer.body, { data: { id, deleted: true } });
  assert.is(answer.headers.get('etag'), null);
});

deleting('makes the ten routes of the instance answer 404', async () => {
  const id = await caller.createInstance();
  await caller.process(id, observationAt(0));
  await remove(id);
  const routes: readonly [string, string, unknown?][] = [
    ['GET', ''],
    ['PATCH', '', { name: 'x' }],
    ['DELETE', ''],
    ['POST', '/process', observationAt(10)],
    ['POST', '/process/batch', { observations: [observationAt(10)] }],
    ['GET', '/snapshot'],
    ['GET', '/contract'],
    ['POST', '/reset', { mode: 'initial' }],
    ['GET', '/history'],
    ['GET', '/drift'],
  ];
  for (const [method, path, json] of routes) {
    const sent = json === undefined ? {} : { json };
    assertRefused(await caller.send(method, `/instances/${id}${path}`, sent), 404, 'not_found');
  }
});

deleting('removes the instance from the list', async () => {
  const someone = await newCaller();
  const [first, second] = [await someone.createInstance(), await someone.createInstance()];
  await someone.send('DELETE', `/instances/${first}`);
  const { data, pagination } = (await someone.send('GET', '/instances')).body;
  assert.equal(
    data.map((row: { id: string }) => row.id),
    [second],
  );
  assert.is(pagination.total, 1);
});

deleting('twice is answered 404 the second time', async () => {
  const id = await caller.createInstance();
  await remove(id);
  assertRefused(await remove(id), 404, 'not_found');
});

deleting('with a JSON content type and no body is answered 200', async () => {
  const id = await caller.createInstance();
  const headers = { 'content-type': 'application/json' };
  const answer = await caller.send('DELETE', `/instances/${id}`, { headers });
  assert.is(answer.status, 200, answer.text);
});

deleting('of another account is answered 404 and deletes nothing', async () => {
  const other = await newCaller();
  const id = await caller.createInstance();
  const foreign = await other.send('DELETE', `/instances/${id}`);
  assertRefused(foreign, 404, 'not_found');
  assert.is(foreign.text, (await remove('inst_0123456789abcdef')).text);
  assert.is((await caller.send('GET', `/instances/${id}`)).status, 200);
});

deleting.run();
