import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { MODE_KEYS } from '#identity/modes';
import { assertRefused, limitOf, sharedScene } from '#test/support/calls/scene';

const { caller } = await sharedScene();
const list = (query = '') => caller.send('GET', `/personas${query}`);

/** Expected personas. Source: interface 2.8. */
const PERSONAS: readonly [id: string, name: string, archetype: string, dominant: string][] = [
  ['persona_analytical', 'The Analyst', 'detail-oriented', 'Perception, Order'],
  ['persona_creative', 'The Creator', 'imaginative', 'Exploration, Assertion'],
  ['persona_leader', 'The Leader', 'commanding', 'Assertion, Identity'],
  ['persona_supporter', 'The Supporter', 'empathetic', 'Connection, Perception'],
  ['persona_explorer', 'The Explorer', 'adventurous', 'Exploration, Connection'],
  ['persona_guardian', 'The Guardian', 'protective', 'Order, Identity'],
  ['persona_philosopher', 'The Philosopher', 'thoughtful', 'Identity, Perception'],
  ['persona_performer', 'The Performer', 'expressive', 'Connection, Assertion'],
  ['persona_scholar', 'The Scholar', 'intellectual', 'Perception, Order'],
  ['persona_diplomat', 'The Diplomat', 'harmonious', 'Connection, Order'],
  ['persona_pioneer', 'The Pioneer', 'ambitious', 'Exploration, Assertion'],
  ['persona_catalyst', 'The Catalyst', 'dynamic', 'Exploration, Connection'],
];

const listing = suite('listing the personas');

listing('is answered 200 with the twelve specified personas and their total', async () => {
  const answer = await list();
  assert.is(answer.status, 200);
  const { data, pagination } = answer.body;
  assert.equal(pagination, { total: 12 });
  type Row = { id: string; name: string; archetype: string };
  const rows = data.map(({ id, name, archetype }: Row) => [id, name, archetype]);
  assert.equal(
    rows,
    PERSONAS.map(([id, name, archetype]) => [id, name, archetype]),
  );
});

listing('shows exactly the fields of a list item', async () => {
  const fields =
    'id, name, archetype, description, mode_profile, core_values, decision_style'.split(', ');
  for (const persona of (await list()).body.data) {
    assert.equal(Object.keys(persona), fields);
    assert.equal(Object.keys(persona.mode_profile), [...MODE_KEYS]);
    assert.is(persona.core_values.length, 4);
    const style = ['tempo', 'risk', 'expressiveness', 'commitment_threshold'];
    assert.equal(Object.keys(persona.decision_style), style);
  }
});

listing('has profiles that create instances with the persona’s dominant modes', async () => {
  const { data } = (await list()).body;
  for (const [index, [, name, , dominant]] of PERSONAS.entries()) {
    const config = { mode_strengths: data[index].mode_profile };
    const id = await caller.createInstance({ initial_config: config });
    const contract = (await caller.send('GET', `/instances/${id}/contract`)).body.data;
    assert.is(contract.dominant_modes.join(', '), dominant, name);
  }
});

listing('of version v1 gives the same list', async () => {
  assert.is((await list('?version=v1')).text, (await list()).text);
});

listing('costs a request and no cycle', async () => {
  const [first, second] = [await list(), await list()];
  assert.is(limitOf(second, 'remaining'), limitOf(first, 'remaining') - 1);
  assert.is(limitOf(second, 'monthly'), limitOf(first, 'monthly'));
});

for (const version of ['v2', '1', '', 'V1']) {
  listing(`of version "${version}" is answered 400`, async () => {
    const details = { field: 'version', reason: 'invalid_parameter' };
    assertRefused(await list(`?version=${version}`), 400, 'invalid_request', details);
  });
}

listing('with an unknown parameter is answered 400', async () => {
  const details = { field: 'limit', reason: 'unknown_parameter' };
  assertRefused(await list('?limit=5'), 400, 'invalid_request', details);
});

listing.run();
