import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { list, recorded, stress } from '#test/api/instances/indexed-instances';
import { sharedScene } from '#test/support/calls/scene';

const { newCaller } = await sharedScene();

const fleet = suite('the counts of a fleet');

// Catches a group of counts that does not add up, and a tag that a removed instance still counts.
fleet('add up to the number of instances', async () => {
  const of = await newCaller();
  const read = async () => {
    await list(of, 'stress=LOW');
    const answer = await of.send('GET', '/fleet');
    assert.is(answer.status, 200, answer.text);
    return answer.body.data;
  };
  assert.is((await read()).total, 0);
  const ada = await of.createInstance({ name: 'ada', tags: { team: 'docs' } });
  const bob = await of.createInstance({ name: 'bob', tags: { team: 'docs', tier: '2' } });
  await recorded(of, 'created', bob);
  await stress(of, ada);
  const counts = await read();
  const sum = (group: Record<string, number>) =>
    Object.values(group).reduce((all, one) => all + one, 0);
  const { total, stress_states, drift_levels, dominant_modes, unknown } = counts;
  assert.equal([total, unknown], [2, 0]);
  assert.equal([stress_states, drift_levels, dominant_modes].map(sum), [2, 2, 2]);
  assert.is(stress_states.LOW, 1);
  assert.equal(counts.tags, [
    { key: 'team', value: 'docs', count: 2 },
    { key: 'tier', value: '2', count: 1 },
  ]);
  const [newest] = counts.recent_events;
  assert.equal([newest.instance_id, counts.recent_events.at(-1).type], [ada, 'created']);
  await of.send('DELETE', `/instances/${bob}`);
  const after = await read();
  assert.equal([after.total, after.different_tags], [1, 1]);
});

fleet.run();
