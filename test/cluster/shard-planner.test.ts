import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { ringNodes } from '#cluster/shard-planner';
import { planOf, rowOf } from '#test/cluster/planner-fixture';

const claims = suite('a shard whose target is this node');

claims('is claimed when no node has ever owned it', () => {
  const plan = planOf({ ring: ['me', 'a', 'me'] });
  assert.equal(plan, [{ kind: 'claimFirst', shards: [0, 2] }]);
});

claims('is taken over when its owner is sealed, with all shards that this node should own', () => {
  const rows = ['0 a-1 1', '1 a-1 4', '2 b-1 1', '3 a-1 1'];
  const plan = planOf({ rows, ring: ['me', 'me', 'me', 'b'], sealed: ['a-1'] });
  const taken = [rowOf('0 a-1 1'), rowOf('1 a-1 4')];
  assert.equal(
    plan.filter(({ kind }) => kind !== 'decided'),
    [{ kind: 'takeOver', owner: 'a-1', rows: taken }],
  );
});

claims('is left to an owner whose journal is not sealed', () => {
  const plan = planOf({ rows: ['0 a-1 1'], ring: ['me'] });
  assert.equal(plan, [{ kind: 'decided', row: rowOf('0 a-1 1') }]);
});

claims(
  'is not claimed without the bus, with too few nodes heard, nor while this node leaves',
  () => {
    const ring = ['me'];
    assert.equal(planOf({ ring, isConnected: false }), []);
    assert.equal(planOf({ ring, hearsEnough: false }), []);
    assert.equal(planOf({ ring, throttle: { isLeaving: true } }), []);
  },
);

claims('is not claimed in the start-up grace period', () => {
  const ring = ['me'];
  assert.equal(planOf({ ring, startedMs: 98_001 }), []);
  assert.is(planOf({ ring, startedMs: 98_000 }).length, 1);
});

claims(
  'is claimed after 0.3 s when every owner is present or sealed, and no node is missing',
  () => {
    const outage = { rows: ['0 a-1 1', '1 b-1 1'], ring: ['me', 'b'], sealed: ['a-1'] };
    const claimed = (startedMs: number, present: readonly string[]) =>
      planOf({ ...outage, startedMs, present }).some(({ kind }) => kind === 'takeOver');
    assert.ok(claimed(99_700, ['b-1', 'me-1']));
    assert.not(claimed(99_701, ['b-1', 'me-1']));
    assert.not(claimed(99_700, ['me-1']), 'an owner is missing');
    assert.not(claimed(99_700, ['c-1', 'me-1']), 'an owner is missing');
  },
);

claims('is not claimed after 0.3 s by fewer nodes than there were owners', () => {
  const outage = { rows: ['0 a-1 1', '1 b-1 1'], ring: ['me', 'me'], sealed: ['a-1', 'b-1'] };
  const plan = planOf({ ...outage, startedMs: 99_700 });
  assert.not(plan.some(({ kind }) => kind === 'takeOver'));
  assert.is(planOf({ ...outage, startedMs: 98_000 }).at(-1)?.kind, 'takeOver');
});

const given = suite('a shard whose row names this incarnation');

given('is opened at an epoch that this node has not opened', () => {
  const plan = planOf({ rows: ['0 me-1 2'], ring: ['me'], opened: [[0, 1]] });
  assert.equal(plan, [{ kind: 'open', row: rowOf('0 me-1 2') }]);
  const sealed = planOf({ rows: ['0 me-1 2'], ring: ['me'], sealed: ['me-1'] });
  assert.equal(sealed, plan, 'the shard was never claimed');
});

given('is never opened twice at an epoch: it moves to the target or to a new epoch here', () => {
  const closed = { rows: ['0 me-1 2'], opened: [[0, 2]] } as const;
  const row = rowOf('0 me-1 2');
  assert.equal(planOf({ ...closed, ring: ['a'] }), [{ kind: 'moveOn', row, target: 'a' }]);
  assert.equal(planOf({ ...closed, ring: ['me'] }), [{ kind: 'moveOn', row, target: undefined }]);
});

given('keeps its row when this node leaves and no other node exists', () => {
  const closed = { rows: ['0 me-1 2'], opened: [[0, 2]] } as const;
  const throttle = { isLeaving: true };
  assert.equal(planOf({ ...closed, throttle, ring: [], shardCount: 1 }), []);
  const plan = planOf({ ...closed, throttle, ring: ['a'] });
  assert.is(plan[0]?.kind, 'moveOn');
});

given('gets no action while one of its tasks is in progress', () => {
  assert.equal(planOf({ rows: ['0 me-1 2'], ring: ['me'], busy: [0] }), []);
  assert.equal(planOf({ rows: ['0 a-1 2'], ring: ['me'], busy: [0], sealed: ['a-1'] }), []);
  assert.equal(planOf({ rows: ['0 a-1 2'], ring: ['me'], busy: [0], open: [[0, 1]] }), []);
});

const open = suite('a shard that is open on this node');

open('stays when its target is this node, or no node is present', () => {
  assert.equal(planOf({ rows: ['0 me-1 1'], ring: ['me'], open: [[0, 1]] }), []);
  assert.equal(planOf({ ring: ['me'], open: [[0, 1]] }), [], 'its row has not been seen yet');
  assert.equal(planOf({ rows: ['0 a-1 1'], ring: ['me'], open: [[0, 2]] }), [], 'an old row');
});

open('ends this incarnation when its row has moved, before any other action', () => {
  for (const row of ['1 a-1 2', '1 me-1 2', '1 a-1 1']) {
    const plan = planOf({ rows: ['0 me-1 9', row], ring: ['me', 'me', 'me'], open: [[1, 1]] });
    assert.equal(plan, [{ kind: 'fence', shard: 1 }], row);
  }
});

open('is given to its target if the throttle allows the move', () => {
  const held = { rows: ['0 me-1 1'], ring: ['a'], open: [[0, 1]] } as const;
  assert.equal(planOf(held), [{ kind: 'give', shard: 0, epoch: 1, target: 'a' }]);
  assert.equal(planOf({ ...held, throttle: { mayMove: () => false } }), []);
  assert.equal(planOf({ ...held, isConnected: false }), []);
  assert.equal(planOf({ ...held, hearsEnough: false }), []);
});

open(
  'is given only if the throttle allows the move in addition to the moves planned before',
  () => {
    const planned: number[] = [];
    const mayMove = (_shard: number, _node: string, _nowMs: number, moves = 0) => {
      planned.push(moves);
      return moves < 2;
    };
    const all = [0, 1, 2, 3].map((shard) => [shard, 1] as const);
    const plan = planOf({ ring: ['a', 'a', 'a', 'a'], open: all, throttle: { mayMove } });
    assert.equal([plan.length, planned], [2, [0, 1, 2, 2]]);
  },
);

const leaving = suite('a node that leaves');

leaving('is not on the ring', () => {
  const present = [{ node: 'a' }, { node: 'me' }];
  assert.equal(ringNodes(present, 'me', true), ['a']);
  assert.equal(ringNodes(present, 'me', false), ['a', 'me']);
});

leaving('gives away every shard, as fast as the throttle allows, with or without a bus', () => {
  const mayGiveUp = (_nowMs: number, moves = 0) => moves < 1;
  const throttle = { isLeaving: true, mayGiveUp };
  const open = [0, 1].map((shard) => [shard, 1] as const);
  const plan = planOf({ ring: ['a', 'a'], open, throttle, isConnected: false });
  assert.equal(plan, [{ kind: 'give', shard: 0, epoch: 1, target: 'a' }]);
});

leaving('closes every shard when no other node exists', () => {
  const throttle = { isLeaving: true, hasRoom: (moves = 0) => moves < 1 };
  const open = [0, 1].map((shard) => [shard, 1] as const);
  const [action, ...rest] = planOf({ ring: [], shardCount: 2, open, throttle });
  assert.equal(action, { kind: 'give', shard: 0, epoch: 1, target: undefined });
  assert.equal(rest, []);
});

for (const one of [claims, given, open, leaving]) one.run();
