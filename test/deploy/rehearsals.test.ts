import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { clusterPlan } from '#deploy/local/cluster-plan';
import { ALERTS } from '#deploy/observe/rule-files';
import { type Choice, chosenRehearsals } from '#test/observe/chosen-rehearsals';
import { NOT_REHEARSED, REHEARSALS } from '#test/observe/rehearsals';

const rehearsed = suite('every alert');

rehearsed('is raised by a fault that can be rehearsed, or it is said why not', () => {
  const raised = REHEARSALS.flatMap(({ alerts }) => alerts);
  const names = [...raised, ...Object.keys(NOT_REHEARSED)].sort();
  assert.equal(names, ALERTS.map(({ name }) => name).toSorted());
});

const chosen = suite('of the rehearsals');

const clusterOf = (cassandraNodes: 1 | 3) => clusterPlan({ folder: '', ports: 0, cassandraNodes });
const alertsOf = ({ chosen: some }: Choice) => some.flatMap(({ alerts }) => alerts);

chosen('all are chosen unless some are named, but for those that take more Cassandra nodes', () => {
  const all = REHEARSALS.flatMap(({ alerts }) => alerts);
  assert.equal(alertsOf(chosenRehearsals(REHEARSALS, undefined, clusterOf(3))), all);
  const one = chosenRehearsals(REHEARSALS, undefined, clusterOf(1));
  assert.equal(
    alertsOf(one),
    all.filter((name) => name !== 'StoreServerSlow'),
  );
  assert.equal(one.left, ['StoreServerSlow takes CASSANDRA=3']);
});

chosen('those are that raise one of the alerts that are named, in their own order', () => {
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

chosen('none is for a name that no alert of them has', () => {
  const choose = () => chosenRehearsals(REHEARSALS, 'NoEdge,StoreFail', clusterOf(1));
  assert.throws(choose, /^--only: no rehearsal raises "StoreFail"$/);
});

for (const group of [rehearsed, chosen]) group.run();
