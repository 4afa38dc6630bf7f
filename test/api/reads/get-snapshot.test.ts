import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { changesNothing, hidesFromOthers } from '#test/api/instances/one-instance';
import type { Caller } from '#test/support/calls/caller';
import { assertRefused, observationAt, sharedScene } from '#test/support/calls/scene';

const scene = await sharedScene();
const { caller } = scene;
const get = (of: Caller, id: string) => of.send('GET', `/instances/${id}/snapshot`);

const reading = suite('getting the snapshot');

reading('of a new instance is answered 200 with cycle 0 and the instance’s times', async () => {
  const made = await caller.send('POST', '/instances', { json: { name: 'Ada' } });
  const { id, created_at } = made.body.data;
  const answer = await get(caller, id);
  assert.is(answer.status, 200);
  const { mode_strengths, set_point, ...rest } = answer.body.data;
  assert.is(Object.keys(mode_strengths).length, 7);
  assert.equal(set_point, mode_strengths);
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

reading('after a cycle gives that cycle’s snapshot and four more fields', async () => {
  const id = await caller.createInstance();
  const processed = await caller.send('POST', `/instances/${id}/process`, {
    json: observationAt(0, { mode_target: 'STRESS_RESPONSE', signal_strength: 0.9 }),
  });
  const answer = await get(caller, id);
  const { cycle_count, created_at, updated_at, set_point, ...snapshot } = answer.body.data;
  assert.equal(snapshot, processed.body.data.snapshot);
  assert.is(cycle_count, 1);
  assert.ok(updated_at >= created_at);
  assert.is(answer.headers.get('etag'), processed.headers.get('etag'));
});

changesNothing(reading, scene, get);
hidesFromOthers(reading, scene, get, () => caller.createInstance(), ['persona_leader']);

reading('with a query parameter is answered 400', async () => {
  const answer = await caller.send('GET', '/instances/inst_0123456789abcdef/snapshot?at=0');
  assertRefused(answer, 400, 'invalid_request', { field: 'at', reason: 'unknown_parameter' });
});

reading.run();
