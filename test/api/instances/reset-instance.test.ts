import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  assertRefused,
  limitOf,
  MORNING_MS,
  observationAt,
  sharedScene,
} from '#test/support/calls/scene';
import { assertServed, ModelReplay } from '#test/support/model-replay';

const { caller, newCaller } = await sharedScene();
const reset = (id: string, json: unknown) =>
  caller.send('POST', `/instances/${id}/reset`, { json });
const stateOf = async (id: string) => {
  const { data } = (await caller.send('GET', `/instances/${id}/snapshot`)).body;
  const { created_at: _, updated_at: __, set_point: ___, ...state } = data;
  return state;
};
const contractOf = async (id: string) =>
  (await caller.send('GET', `/instances/${id}/contract`)).body.data;

const CONFIG = { mode_strengths: { perception: 0.85, order: 0.75 }, energy_level: 0.6 };
const STRESS = { mode_target: 'STRESS_RESPONSE', signal_strength: 1 };

const initial = suite('a reset to initial');

initial('is answered 200 with cycle 0, the energy of creation and stress LOW', async () => {
  const id = await caller.createInstance({ initial_config: CONFIG });
  for (let i = 0; i < 5; i += 1) await caller.process(id, observationAt(i, STRESS));
  const answer = await reset(id, { mode: 'initial' });
  assert.is(answer.status, 200);
  assert.equal(answer.body, {
    data: { id, reset_to: 'initial', cycle: 0, energy_level: 0.6, stress_state: 'LOW' },
  });
  assert.match(answer.headers.get('etag') ?? '', /^"snap_[0-9a-f]{16}"$/);
});

initial('restores the snapshot and contract of the creation', async () => {
  const id = await caller.createInstance({ initial_config: CONFIG });
  const [fresh, contract] = [await stateOf(id), await contractOf(id)];
  for (let i = 0; i < 8; i += 1) await caller.process(id, observationAt(i, STRESS));
  await reset(id, { mode: 'initial' });
  assert.equal(await stateOf(id), fresh);
  assert.equal(await contractOf(id), contract);
});

initial('restores energy 0.8 if the instance was created without a configuration', async () => {
  const id = await caller.createInstance();
  await caller.process(id, observationAt(0));
  assert.is((await reset(id, { mode: 'initial' })).body.data.energy_level, 0.8);
});

initial('costs a request and no cycle', async () => {
  const id = await caller.createInstance();
  const before = await caller.send('GET', `/instances/${id}`);
  const after = await reset(id, { mode: 'initial' });
  assert.is(limitOf(after, 'remaining'), limitOf(before, 'remaining') - 1);
  assert.is(limitOf(after, 'monthly'), limitOf(before, 'monthly'));
});

initial('keeps name and description, and advances updated_at', async () => {
  const id = await caller.createInstance({ description: 'd' });
  const before = (await caller.send('GET', `/instances/${id}`)).body.data;
  await reset(id, { mode: 'initial' });
  const after = (await caller.send('GET', `/instances/${id}`)).body.data;
  assert.equal({ ...after, updated_at: '' }, { ...before, updated_at: '' });
  assert.ok(after.updated_at >= before.updated_at);
});

/** Creates an instance with `CONFIG`, and a replay of the model with the same start values. */
async function replayed() {
  const id = await caller.createInstance({ initial_config: CONFIG });
  const replay = new ModelReplay(MORNING_MS, {
    modeStrengths: [0.85, 0, 0.75, 0, 0, 0, 0],
    energyLevel: 0.6,
  });
  return { id, replay };
}

const stable = suite('a reset to default');

stable('returns to the last stable checkpoint at cycle 0', async () => {
  const { id, replay } = await replayed();
  const calm = { mode_target: 'PERCEPTION', signal_strength: 0.8 };
  for (let i = 0; i < 20; i += 1) {
    const seen = i < 10 ? calm : STRESS;
    await caller.process(id, observationAt(i * 10, seen));
    replay.observe(seen, MORNING_MS + i * 10_000);
  }
  replay.reset('default', Date.now());
  const answer = await reset(id, { mode: 'default' });
  const { snapshot, contract } = replay.expected();
  assert.is(answer.body.data.reset_to, 'default');
  assert.is(answer.body.data.cycle, 0);
  assertServed(await stateOf(id), snapshot, ['instance_id', 'cycle_count']);
  assertServed(await contractOf(id), contract);
  assert.is(answer.body.data.energy_level, (await stateOf(id)).energy_level);
  assert.is.not(answer.body.data.energy_level, 0.6, 'the checkpoint is later than the creation');
});

stable('without any checkpoint does the same as a reset to initial', async () => {
  const [one, two] = [await caller.createInstance(), await caller.createInstance()];
  const answers = [await reset(one, { mode: 'default' }), await reset(two, { mode: 'initial' })];
  const [a, b] = answers.map(({ body }) => ({ ...body.data, id: '', reset_to: '' }));
  assert.equal(a, b);
});

const after = suite('the first observation after a reset');

after('may have an earlier timestamp, and is then applied as if no time had passed', async () => {
  const id = await caller.createInstance({ initial_config: CONFIG });
  await caller.process(id, observationAt(1_000));
  await reset(id, { mode: 'initial' });
  const again = await caller.process(id, observationAt(0));
  const other = await caller.createInstance({ initial_config: CONFIG });
  const first = await caller.process(other, observationAt(0));
  first.snapshot.instance_id = id;
  assert.equal(again, first);
});

after('starts from the checkpoint after a reset to default', async () => {
  const { id, replay } = await replayed();
  const seen = { mode_target: 'PERCEPTION', signal_strength: 0.8 };
  await caller.process(id, observationAt(500, seen));
  replay.observe(seen, MORNING_MS);
  await reset(id, { mode: 'default' });
  replay.reset('default', MORNING_MS);
  const served = await caller.process(id, observationAt(0, seen));
  replay.observe(seen, MORNING_MS);
  assertServed(served, replay.expected(), ['instance_id', 'description']);
});

after('without a timestamp is never throttled', async () => {
  const id = await caller.createInstance();
  for (let i = 0; i < 3; i += 1) {
    await caller.process(id, { mode_target: 'ORDER', signal_strength: 0.5 });
    await reset(id, { mode: 'initial' });
  }
});

after('is applied with the time since the reset', async () => {
  const id = await caller.createInstance({ initial_config: { energy_level: 0.2 } });
  await reset(id, { mode: 'initial' });
  const resetMs = Date.parse((await caller.send('GET', `/instances/${id}`)).body.data.updated_at);
  const replay = new ModelReplay(resetMs, { energyLevel: 0.2 });
  const seen = { mode_target: 'CONNECTION', signal_strength: 0.4 };
  const timestamp = new Date(resetMs + 250_000).toISOString();
  const served = await caller.process(id, { ...seen, timestamp });
  replay.observe(seen, resetMs + 250_000);
  assertServed(served, replay.expected(), ['instance_id', 'description']);
});

const refused = suite('a reset that breaks a rule');

const WRONG: readonly [body: unknown, field: string | undefined, reason: string][] = [
  [{}, 'mode', 'missing_field'],
  [{ mode: 'factory' }, 'mode', 'unknown_value'],
  [{ mode: 'INITIAL' }, 'mode', 'unknown_value'],
  [{ mode: null }, 'mode', 'unknown_value'],
  [{ mode: 'initial', force: true }, 'force', 'unknown_field'],
  ['initial', undefined, 'wrong_type'],
];

for (const [body, field, reason] of WRONG) {
  refused(
    `such as ${JSON.stringify(body)} is answered 422 with the field and changes nothing`,
    async () => {
      const id = await caller.createInstance();
      await caller.process(id, observationAt(0));
      const details = field === undefined ? { reason } : { field, reason };
      assertRefused(await reset(id, body), 422, 'invalid_request', details);
      assert.is((await stateOf(id)).cycle, 1);
    },
  );
}

refused('of another account’s instance is answered 404 like an unknown instance', async () => {
  const other = await newCaller();
  const id = await other.createInstance();
  await other.process(id, observationAt(0));
  const foreign = await reset(id, { mode: 'initial' });
  assertRefused(foreign, 404, 'not_found');
  assert.is(foreign.text, (await reset('inst_0123456789abcdef', { mode: 'initial' })).text);
  assert.is((await other.send('GET', `/instances/${id}`)).body.data.cycle_count, 1);
});

for (const each of [initial, stable, after, refused]) each.run();
