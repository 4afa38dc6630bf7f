import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { assertRefused, limitOf, observationAt, openScene } from '#test/support/scene';

const { caller, newCaller, close } = await openScene();
const get = (id: string) => caller.send('GET', `/instances/${id}/snapshot`);

const reading = suite('getting the snapshot');

reading('of a fresh instance is answered 200 at cycle 0 with the instance’s times', async () => {
  const made = await caller.send('POST', '/instances', { json: { name: 'Ada' } });
  const { id, created_at } = made.body.data;
  const answer = await get(id);
  assert.is(answer.status, 200);
  const { mode_strengths, ...rest } = answer.body.data;
  assert.is(Object.keys(mode_strengths).length, 7);
  assert.equal(rest, {
    instance_id: id,
    cycle: 0,
    energy_level: 0.8,
    stress_state: 'LOW',
    stability_index: 1,
    cycle_count: 0,
    created_at,
    updated_at: created_at,
  });
  assert.is(answer.headers.get('etag'), made.headers.get('etag'));
});

reading('after a cycle is that cycle’s snapshot and three fields more', async () => {
  const id = await caller.createInstance();
  const processed = await caller.send('POST', `/instances/${id}/process`, {
    json: observationAt(0, { mode_target: 'STRESS_RESPONSE', signal_strength: 0.9 }),
  });
  const answer = await get(id);
  const { cycle_count, created_at, updated_at, ...snapshot } = answer.body.data;
  assert.equal(snapshot, processed.body.data.snapshot);
  assert.is(cycle_count, 1);
  assert.ok(updated_at >= created_at);
  assert.is(answer.headers.get('etag'), processed.headers.get('etag'));
});

reading('changes nothing, however often, and costs no cycle', async () => {
  const id = await caller.createInstance();
  await caller.process(id, observationAt(0));
  const [first, second] = [await get(id), await get(id)];
  assert.is(first.text, second.text);
  assert.is(limitOf(first, 'monthly'), limitOf(second, 'monthly'));
});

reading('of another account’s instance is answered 404 like an unknown one', async () => {
  const other = await newCaller();
  const id = await other.createInstance();
  const foreign = await get(id);
  assertRefused(foreign, 404, 'not_found');
  assert.is(foreign.text, (await get('inst_0123456789abcdef')).text);
  assert.is(foreign.text, (await get('persona_leader')).text);
});

reading('with a query parameter is answered 400', async () => {
  const answer = await caller.send('GET', '/instances/inst_0123456789abcdef/snapshot?at=0');
  assertRefused(answer, 400, 'invalid_request', { field: 'at', reason: 'unknown_parameter' });
});

reading.after(close);

reading.run();
