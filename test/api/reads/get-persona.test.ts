import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { assertRefused, sharedScene } from '#test/support/calls/scene';

const { caller } = await sharedScene();
const get = (id: string) => caller.send('GET', `/personas/${id}`);

/** Preferred actions, coping path and half-life in minutes. Source: model 5. */
const DERIVED: Record<string, readonly [actions: string, path: string, minutes: number]> = {
  analytical: ['clarify question elaborate stabilize suggest', 'structuring', 12.6],
  creative: ['suggest explore question elaborate clarify', 'problem_solving', 13.1],
  leader: ['suggest execute clarify challenge elaborate', 'problem_solving', 9.9],
  supporter: ['clarify comfort question elaborate stabilize', 'support_seeking', 13.5],
  explorer: ['question explore suggest elaborate clarify', 'problem_solving', 13.5],
  guardian: ['stabilize clarify execute suggest elaborate', 'structuring', 11.0],
  philosopher: ['question clarify elaborate suggest stabilize', 'reappraisal', 10.2],
  performer: ['suggest comfort question elaborate clarify', 'support_seeking', 13.5],
  scholar: ['clarify question elaborate suggest stabilize', 'reappraisal', 11.0],
  diplomat: ['clarify comfort question stabilize suggest', 'support_seeking', 12.2],
  pioneer: ['suggest challenge execute explore elaborate', 'problem_solving', 11.0],
  catalyst: ['suggest explore question elaborate comfort', 'support_seeking', 14.5],
};

const getting = suite('getting a persona');

for (const [word, [actions, path, minutes]] of Object.entries(DERIVED)) {
  getting(
    `with the id persona_${word} is answered 200 with the values derived from its profile`,
    async () => {
      const answer = await get(`persona_${word}`);
      assert.is(answer.status, 200);
      const { data } = answer.body;
      assert.is(data.id, `persona_${word}`);
      assert.is(data.preferred_actions.join(' '), actions);
      assert.equal(data.stress_recovery, {
        preferred_path: path,
        half_life_minutes: minutes,
        support_required_at: 'OVER',
        cooldown_required_at: 'OVER',
      });
      assert.ok(data.long_description.length > data.description.length);
    },
  );
}

getting('gives every field of a list item and three more', async () => {
  const { data } = (await caller.send('GET', '/personas')).body;
  for (const listed of data) {
    const { long_description, preferred_actions, stress_recovery, ...rest } = (await get(listed.id))
      .body.data;
    assert.equal(rest, listed);
    assert.ok(long_description && preferred_actions && stress_recovery);
  }
});

for (const id of ['persona_unknown', 'persona_', 'analytical', 'PERSONA_LEADER', 'toString']) {
  getting(`with the id ${id} is answered 404`, async () => {
    assertRefused(await get(id), 404, 'not_found');
  });
}

getting('with a query parameter is answered 400', async () => {
  const details = { field: 'version', reason: 'unknown_parameter' };
  assertRefused(await get('persona_leader?version=v1'), 400, 'invalid_request', details);
});

getting.run();
