import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { clusterPlan } from '#deploy/local/cluster-plan';
import { ALERTS } from '#deploy/observe/rule-files';
import { type Choice, chosenRehearsals } from '#test/observe/chosen-rehearsals';
import { NOT_REHEARSED, REHEARSALS } from '#test/observe/rehearsals';

const rehearsed = suite('every alert');

rehearsed('has a rehearsal, or a reason for having none', () => {
  const raised = REHEARSALS.flatMap(({ alerts }) => alerts);
  const names = [...raised, ...Object.keys(NOT_REHEARSED)].sort();
  assert.equal(names, ALERTS.map(({ name }) => name).toSorted());
});

const chosen = suite('the rehearsals');

const clusterOf = (cassandraNodes: 1 | 3) => clusterPlan({ folder: '', ports: 0, cassandraNodes });
const alertsOf = ({ chosen: some }: Choice) => some.flatMap(({ alerts }) => alerts);

chosen('all run by default, except those that need more Cassandra nodes', () => {
  const all = REHEARSALS.flatMap(({ alerts }) => alerts);
  assert.equal(alertsOf(chosenRehearsals(REHEARSALS, undefined, clusterOf(3))), all);
  const one = chosenRehearsals(REHEARSALS, undefined, clusterOf(1));
  assert.equal(
    alertsOf(one),
    all.filter((name) => name !== 'StoreServerSlow'),
  );
  assert.equal(one.left, ['StoreServerSlow takes CASSANDRA=3']);
});

chosen('those that raise a named alert run, in their own order', () => {
  const { chosen: some, left } = chosenRehearsals(
    REHEARSALS,
    'StoreServerSlow,CheckpointsFail,NoEdge',
    clusterOf(1),
  );
  assert.equal(
    some.map(({ alerts }) => alerts),
    [['NoEdge'], ['StoreFails', 'CheckpointsFail']],
  );
  assert.equal(left, ['StoreServerSlow takes CASSANDRA=3']);
});

chosen('an unknown alert name selects none', () => {
  const choose = () => chosenRehearsals(REHEARSALS, 'NoEdge,StoreFail', clusterOf(1));
  assert.throws(choose, /^--only: no rehearsal raises "StoreFail"$/);
});

for (const group of [rehearsed, chosen]) group.run();
