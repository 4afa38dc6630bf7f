import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { AdoptedRecords } from '#runtime/adopted-records';
import type { TailRecord } from '#runtime/adoption';
import { linesOf } from '#test/runtime/journal-records';

const INFINITE = Number.POSITIVE_INFINITY;

/** Records of an instance as they are found in a dead node's journal. */
function tailOf(actorId: string, versions: readonly number[]): TailRecord[] {
  return linesOf(actorId, versions).map((line) => ({ actor: 'instance', actorId, line }));
}

/** Records of `a` and `b`, held for the claim of shard 7 to epoch 3 at position 11. */
function heldForThree(): AdoptedRecords {
  const adopted = new AdoptedRecords();
  adopted.hold(7, 3, [...tailOf('a', [1, 2]), ...tailOf('b', [5])], 11);
  return adopted;
}

const undecided = suite('records of a claim that is undecided');

undecided('are held, are nobody’s yet, and hold low back', () => {
  const adopted = heldForThree();
  assert.ok(adopted.isHeld(7, 3));
  assert.not(adopted.isHeld(7, 4));
  assert.is(adopted.tailOf(7, 'instance', 'a'), undefined);
  assert.not(adopted.hasWaiting(7, 'instance'));
  assert.equal([adopted.lowest, adopted.size], [11, 3]);
});

undecided('stay when a lower epoch is seen, and go when theirs is another’s', () => {
  const adopted = heldForThree();
  adopted.decide(7, 2);
  assert.ok(adopted.isHeld(7, 3));
  adopted.decide(8, 3);
  assert.ok(adopted.isHeld(7, 3));
  adopted.decide(7, 3);
  assert.not(adopted.isHeld(7, 3));
  assert.equal([adopted.lowest, adopted.size], [INFINITE, 0]);
});

undecided('count although there are none: the claim is known to be without any', () => {
  const adopted = new AdoptedRecords();
  adopted.hold(7, 3, [], 4);
  assert.ok(adopted.isHeld(7, 3));
  assert.equal([adopted.lowest, adopted.size], [4, 0]);
  adopted.open(7, 3);
  assert.is(adopted.lowest, INFINITE);
});

const opened = suite('records of a claim that is won');

opened('belong to their actors until those have run them', () => {
  const adopted = heldForThree();
  adopted.open(7, 3);
  assert.equal(adopted.tailOf(7, 'instance', 'a')?.lines, linesOf('a', [1, 2]));
  assert.is(adopted.tailOf(7, 'instance', 'a')?.position, 11);
  assert.equal(adopted.waiting(7, 'instance', 9), ['a', 'b']);
  assert.equal(adopted.waiting(7, 'instance', 1), ['a']);
  adopted.activated(7, 'instance', 'a');
  assert.is(adopted.tailOf(7, 'instance', 'a'), undefined);
  assert.equal([adopted.lowest, adopted.size], [11, 1]);
  adopted.activated(7, 'instance', 'b');
  assert.equal([adopted.lowest, adopted.size], [INFINITE, 0]);
});

opened('are told apart by kind and shard', () => {
  const adopted = heldForThree();
  adopted.open(7, 3);
  assert.is(adopted.tailOf(7, 'directory', 'a'), undefined);
  assert.is(adopted.tailOf(6, 'instance', 'a'), undefined);
  assert.not(adopted.hasWaiting(7, 'directory'));
});

opened('are used by no opening but that of exactly their epoch', () => {
  for (const epoch of [2, 4]) {
    const adopted = heldForThree();
    adopted.open(7, epoch);
    assert.is(adopted.tailOf(7, 'instance', 'a'), undefined);
    assert.is(adopted.isHeld(7, 3), epoch < 3);
  }
});

opened('leave those of a later claim alone', () => {
  const adopted = heldForThree();
  adopted.hold(7, 5, tailOf('c', [1]), 20);
  adopted.open(7, 3);
  assert.equal(adopted.waiting(7, 'instance', 9), ['a', 'b']);
  assert.ok(adopted.isHeld(7, 5));
  assert.is(adopted.lowest, 11);
});

for (const suite of [undecided, opened]) suite.run();
