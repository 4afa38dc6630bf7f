import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { clusterPlan } from '#deploy/local/cluster-plan';
import { ALERTS } from '#deploy/observe/rule-files';
import { type Choice, chosenRehearsals } from '#test/observe/chosen-rehearsals';
import { NOT_REHEARSED, REHEARSALS } from '#test/observe/rehearsals';

const rehearsed = suite('an alert');

rehearsed('has a rehearsal, or a reason against a rehearsal', () => {
  const raised = REHEARSALS.flatMap(({ alerts }) => alerts);
  const names = [...raised, ...Object.keys(NOT_REHEARSED)].sort();
  assert.equal(names, ALERTS.map(({ name }) => name).toSorted());
});

const chosen = suite('when rehearsals are selected');

const clusterOf = (cassandraNodes: 1 | 3) => clusterPlan({ folder: '', ports: 0, cassandraNodes });
const alertsOf = ({ chosen: some }: Choice) => some.flatMap(({ alerts }) => alerts);

chosen('all rehearsals run by default, except rehearsals that need more Cassandra nodes', () => {
  const all = REHEARSALS.flatMap(({ alerts }) => alerts);
  assert.equal(alertsOf(chosenRehearsals(REHEARSALS, undefined, clusterOf(3))), all);
  const one = chosenRehearsals(REHEARSALS, undefined, clusterOf(1));
  assert.equal(
    alertsOf(one),
    all.filter((name) => name !== 'StoreServerSlow'),
  );
  assert.equal(one.left, ['StoreServerSlow needs CASSANDRA=3']);
});

chosen('only rehearsals that raise a selected alert run, in the usual order', () => {
  const { chosen: some, left } = chosenRehearsals(
    REHEARSALS,
    'StoreServerSlow,CheckpointsFail,NoEdge',
    clusterOf(1),
  );
  assert.equal(
    some.map(({ alerts }) => alerts),
    [['NoEdge'], ['StoreFails', 'CheckpointsFail']],
  );
  assert.equal(left, ['StoreServerSlow needs CASSANDRA=3']);
});

chosen('an unknown alert name is rejected', () => {
  const choose = () => chosenRehearsals(REHEARSALS, 'NoEdge,StoreFail', clusterOf(1));
  assert.throws(choose, /^--only: no rehearsal raises "StoreFail"$/);
});

for (const group of [rehearsed, chosen]) group.run();
