import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { RecoveredRecords, type TailRecord } from '#shards/tail-recovery';
import { linesOf } from '#test/actor-runtime/commit-log/journal-records';

const INFINITE = Number.POSITIVE_INFINITY;

/** Records of an instance, as read from the journal of a dead node. */
function tailOf(actorId: string, versions: readonly number[]): TailRecord[] {
  return linesOf(actorId, versions).map((line) => ({ actor: 'instance', actorId, line }));
}

/** Records of `a` and `b` at offset 11, held for the claim to shard 7 at epoch 3. */
function heldForThree(): RecoveredRecords {
  const recovered = new RecoveredRecords(() => 0);
  recovered.hold(7, 3, [...tailOf('a', [1, 2]), ...tailOf('b', [5])], 11);
  return recovered;
}

const undecided = suite('the records of an undecided claim');

undecided('are held, belong to no actor yet, and hold the low-water mark back', () => {
  const recovered = heldForThree();
  assert.ok(recovered.isHeld(7, 3));
  assert.not(recovered.isHeld(7, 4));
  assert.is(recovered.tailOf(7, 'instance', 'a'), undefined);
  assert.not(recovered.hasWaiting(7, 'instance'));
  assert.equal([recovered.lowest, recovered.size], [11, 3]);
});

undecided(
  'stay below the epoch of the claim, and are dropped when the shard reaches this epoch',
  () => {
    const recovered = heldForThree();
    recovered.decide(7, 2);
    assert.ok(recovered.isHeld(7, 3));
    recovered.decide(8, 3);
    assert.ok(recovered.isHeld(7, 3));
    recovered.decide(7, 3);
    assert.not(recovered.isHeld(7, 3));
    assert.equal([recovered.lowest, recovered.size], [INFINITE, 0]);
  },
);

undecided('may be an empty list: the claim still counts as recovered', () => {
  const recovered = new RecoveredRecords(() => 0);
  recovered.hold(7, 3, [], 4);
  assert.ok(recovered.isHeld(7, 3));
  assert.equal([recovered.lowest, recovered.size], [4, 0]);
  recovered.open(7, 3);
  assert.is(recovered.lowest, INFINITE);
});

const opened = suite('the records of a won claim');

opened('belong to their actors until the actors have replayed them', () => {
  const recovered = heldForThree();
  recovered.open(7, 3);
  assert.equal(recovered.tailOf(7, 'instance', 'a')?.lines, linesOf('a', [1, 2]));
  assert.is(recovered.tailOf(7, 'instance', 'a')?.offset, 11);
  assert.equal(recovered.waiting(7, 'instance', 9), ['a', 'b']);
  assert.equal(recovered.waiting(7, 'instance', 1), ['a']);
  recovered.activated(7, 'instance', 'a');
  assert.is(recovered.tailOf(7, 'instance', 'a'), undefined);
  assert.equal([recovered.lowest, recovered.size], [11, 1]);
  recovered.activated(7, 'instance', 'b');
  assert.equal([recovered.lowest, recovered.size], [INFINITE, 0]);
});

opened('wait by bucket, so that the heads of one bucket can be read together', () => {
  const recovered = new RecoveredRecords((actorId) => Number(actorId.at(-1)));
  const ids = ['a2', 'b1', 'c2', 'd3', 'e1'];
  recovered.hold(
    7,
    3,
    ids.flatMap((id) => tailOf(id, [1])),
    11,
  );
  recovered.open(7, 3);
  assert.equal(recovered.waiting(7, 'instance', 9), ['b1', 'e1', 'a2', 'c2', 'd3']);
  assert.equal(recovered.tailOf(7, 'instance', 'c2')?.lines, linesOf('c2', [1]));
});

opened('are separate by kind and shard', () => {
  const recovered = heldForThree();
  recovered.open(7, 3);
  assert.is(recovered.tailOf(7, 'directory', 'a'), undefined);
  assert.is(recovered.tailOf(6, 'instance', 'a'), undefined);
  assert.not(recovered.hasWaiting(7, 'directory'));
});

opened('are used only when the shard opens at exactly their epoch', () => {
  for (const epoch of [2, 4]) {
    const recovered = heldForThree();
    recovered.open(7, epoch);
    assert.is(recovered.tailOf(7, 'instance', 'a'), undefined);
    assert.is(recovered.isHeld(7, 3), epoch < 3);
  }
});

opened('do not affect the records of a later claim', () => {
  const recovered = heldForThree();
  recovered.hold(7, 5, tailOf('c', [1]), 20);
  recovered.open(7, 3);
  assert.equal(recovered.waiting(7, 'instance', 9), ['a', 'b']);
  assert.ok(recovered.isHeld(7, 5));
  assert.is(recovered.lowest, 11);
});

for (const suite of [undecided, opened]) suite.run();
