import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { assertRefused, limitOf, observationAt, openScene } from '#test/support/scene';

const { caller, newCaller, close } = await openScene();
const get = (id: string) => caller.send('GET', `/instances/${id}/contract`);

const reading = suite('getting the contract');

reading('of a neutral instance is answered 200 with the model’s neutral contract', async () => {
  const answer = await get(await caller.createInstance());
  assert.is(answer.status, 200);
  const { allowed_actions, ...rest } = answer.body.data;
  const allowed = 'explore question elaborate suggest clarify stabilize execute comfort defer';
  assert.equal(allowed_actions.toSorted(), allowed.split(' ').toSorted());
  assert.equal(rest, {
    dominant_modes: [],
    suppressed_modes: [],
    forbidden_actions: [],
    decision_style: {
      tempo: 'measured',
      risk: 'balanced',
      expressiveness: 'medium',
      commitment_threshold: 'medium',
    },
    energy_level: 0.8,
    stress_state: 'LOW',
    recovery_profile: {
      preferred_path: 'none',
      support_required: false,
      cooldown_required: false,
    },
  });
});

reading('of a persona has its dominant modes, style and actions', async () => {
  const { data: personas } = (await caller.send('GET', '/personas')).body;
  for (const { id: personaId } of personas) {
    const persona = (await caller.send('GET', `/personas/${personaId}`)).body.data;
    const config = { mode_strengths: persona.mode_profile };
    const id = await caller.createInstance({ initial_config: config });
    const { data } = (await get(id)).body;
    assert.equal(data.decision_style, persona.decision_style, personaId);
    assert.equal(data.allowed_actions.slice(0, 5), persona.preferred_actions, personaId);
  }
});

reading('after a cycle is that cycle’s contract, under the same tag', async () => {
  const id = await caller.createInstance();
  const processed = await caller.send('POST', `/instances/${id}/process`, {
    json: observationAt(0, { mode_target: 'STRESS_RESPONSE', signal_strength: 1 }),
  });
  const answer = await get(id);
  assert.equal(answer.body.data, processed.body.data.contract);
  assert.is(answer.headers.get('etag'), processed.headers.get('etag'));
});

reading('spells the seventh mode Stress_Response', async () => {
  const id = await caller.createInstance({
    initial_config: { mode_strengths: { stress_response: 0.9 } },
  });
  assert.equal((await get(id)).body.data.dominant_modes, ['Stress_Response']);
});

reading('changes nothing and costs no cycle', async () => {
  const id = await caller.createInstance();
  await caller.process(id, observationAt(0));
  const [first, second] = [await get(id), await get(id)];
  assert.is(first.text, second.text);
  assert.is(limitOf(first, 'monthly'), limitOf(second, 'monthly'));
});

reading('of another account’s instance is answered 404 like an unknown one', async () => {
  const other = await newCaller();
  const foreign = await get(await other.createInstance());
  assertRefused(foreign, 404, 'not_found');
  assert.is(foreign.text, (await get('inst_0123456789abcdef')).text);
});

reading.after(close);

reading.run();
