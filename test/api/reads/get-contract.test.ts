import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { contractPrompt } from '#identity/contract-prompt';
import { changesNothing, hidesFromOthers } from '#test/api/instances/one-instance';
import type { Caller } from '#test/support/calls/caller';
import { assertRefused, observationAt, sharedScene } from '#test/support/calls/scene';

const scene = await sharedScene();
const { caller } = scene;
const get = (of: Caller, id: string) => of.send('GET', `/instances/${id}/contract`);

const reading = suite('getting the contract');

reading('of a neutral instance is answered 200 with the model’s neutral contract', async () => {
  const answer = await get(caller, await caller.createInstance());
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

reading('of a persona’s instance gives the persona’s style and actions', async () => {
  const { data: personas } = (await caller.send('GET', '/personas')).body;
  for (const { id: personaId } of personas) {
    const persona = (await caller.send('GET', `/personas/${personaId}`)).body.data;
    const config = { mode_strengths: persona.mode_profile };
    const id = await caller.createInstance({ initial_config: config });
    const { data } = (await get(caller, id)).body;
    assert.equal(data.decision_style, persona.decision_style, personaId);
    assert.equal(data.allowed_actions.slice(0, 5), persona.preferred_actions, personaId);
  }
});

reading(
  'with prompt=true also gives the prompt of the same contract, under the same tag',
  async () => {
    const id = await caller.createInstance();
    const plain = await get(caller, id);
    const prompted = await caller.send('GET', `/instances/${id}/contract?prompt=true`);
    const { prompt, ...contract } = prompted.body.data;
    assert.equal(contract, plain.body.data);
    assert.is(prompt, contractPrompt(contract));
    assert.is(prompted.headers.get('etag'), plain.headers.get('etag'));
    const unchanged = await caller.send('GET', `/instances/${id}/contract?prompt=false`);
    assert.equal(unchanged.body, plain.body);
  },
);

reading('with another value of prompt is refused', async () => {
  const id = await caller.createInstance();
  const answer = await caller.send('GET', `/instances/${id}/contract?prompt=1`);
  assertRefused(answer, 400, 'invalid_request', { reason: 'invalid_parameter', field: 'prompt' });
});

reading('after a cycle gives that cycle’s contract, under the same tag', async () => {
  const id = await caller.createInstance();
  const processed = await caller.send('POST', `/instances/${id}/process`, {
    json: observationAt(0, { mode_target: 'STRESS_RESPONSE', signal_strength: 1 }),
  });
  const answer = await get(caller, id);
  assert.equal(answer.body.data, processed.body.data.contract);
  assert.is(answer.headers.get('etag'), processed.headers.get('etag'));
});

reading('spells the seventh mode Stress_Response', async () => {
  const id = await caller.createInstance({
    initial_config: { mode_strengths: { stress_response: 0.9 } },
  });
  assert.equal((await get(caller, id)).body.data.dominant_modes, ['Stress_Response']);
});

changesNothing(reading, scene, get);
hidesFromOthers(reading, scene, get, () => caller.createInstance());

reading.run();
