import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  AGREED_VIEW_MS,
  LEAVE_SPREAD_MS,
  MOVE_COOLDOWN_MS,
  MOVES_IN_FLIGHT_MAX,
} from '#cluster/bounds';
import { RebalancingThrottle } from '#cluster/rebalancing-throttle';
import { ClusterWorld } from '#test/cluster/cluster-fixture';

/** `me` and `a`, who say what they see; `a` sees what we see unless told otherwise. */
function newScene() {
  const world = new ClusterWorld();
  const members = world.members('me');
  const rules = new RebalancingThrottle({ ...world, members });
  /** Seconds in which `a` speaks and a look is taken. */
  const live = (seconds: number, viewOf: () => string = () => members.viewHash): void => {
    for (let i = 0; i < seconds; i += 1) {
      world.say('a', { viewHash: viewOf() });
      world.say('a', { viewHash: viewOf() });
      rules.look();
      world.clock.advance(1_000);
    }
  };
  return { world, members, rules, live };
}

const AGREED_S = AGREED_VIEW_MS / 1_000;
const views = suite('a shard may move on purpose');

views('to a node that has seen what we see for 3 s', () => {
  const { rules, live } = newScene();
  live(AGREED_S - 1);
  assert.not(rules.mayMove(1, 'a'));
  live(1);
  assert.ok(rules.mayMove(1, 'a'));
  assert.not(rules.mayMove(1, 'nobody'));
});

views('not to one that has seen something else meanwhile', () => {
  const { rules, live } = newScene();
  live(AGREED_S);
  live(1, () => 'else');
  assert.not(rules.mayMove(1, 'a'));
  live(AGREED_S - 1);
  assert.not(rules.mayMove(1, 'a'));
  live(1);
  assert.ok(rules.mayMove(1, 'a'));
});

views('not as soon as our own view has changed', () => {
  const { world, rules, live } = newScene();
  live(AGREED_S);
  world.say('b');
  assert.not(rules.mayMove(1, 'a'));
});

views('not as soon as a node is back that was away, though the view is as before', () => {
  const { world, rules, live } = newScene();
  live(AGREED_S);
  for (let i = 0; i < 6; i += 1) {
    rules.look();
    world.clock.advance(1_000);
  }
  live(1);
  assert.not(rules.mayMove(1, 'a'));
  live(AGREED_S);
  assert.ok(rules.mayMove(1, 'a'));
});

const rest = suite('a shard that has moved on purpose');

rest('rests for 30 s, whether it came or went; others do not', () => {
  const { rules, live } = newScene();
  live(AGREED_S);
  rules.moving(1)[Symbol.dispose]();
  rules.arrived(2);
  assert.equal(
    [1, 2, 3].map((shard) => rules.mayMove(shard, 'a')),
    [false, false, true],
  );
  live(MOVE_COOLDOWN_MS / 1_000 - 1);
  assert.equal(
    [1, 2].map((shard) => rules.mayMove(shard, 'a')),
    [false, false],
  );
  live(1);
  assert.equal(
    [1, 2].map((shard) => rules.mayMove(shard, 'a')),
    [true, true],
  );
});

const movesInFlight = suite('shards in motion');

movesInFlight('are 8 at most', () => {
  const { rules, live } = newScene();
  live(AGREED_S);
  const moving = Array.from({ length: MOVES_IN_FLIGHT_MAX }, (_, shard) => {
    assert.ok(rules.mayMove(shard, 'a'));
    return rules.moving(shard);
  });
  assert.not(rules.hasRoom);
  assert.not(rules.mayMove(99, 'a'));
  moving[0]?.[Symbol.dispose]();
  assert.ok(rules.mayMove(99, 'a'));
});

movesInFlight('of a node that leaves are spread over a while', () => {
  const { rules, world } = newScene();
  assert.not(rules.mayGiveUp, 'it does not leave');
  rules.leave(100);
  assert.ok(rules.isLeaving);
  const givenUp: number[] = [];
  for (let step = 0; step < 10; step += 1) {
    let given = 0;
    for (; rules.mayGiveUp; given += 1) rules.moving(given)[Symbol.dispose]();
    givenUp.push(given);
    world.clock.advance(LEAVE_SPREAD_MS / 10);
  }
  assert.equal(givenUp, [1, 10, 10, 10, 10, 10, 10, 10, 10, 10]);
  for (let late = 0; late < 50; late += 1) {
    assert.ok(rules.mayGiveUp, 'what comes later goes at once');
    rules.moving(late)[Symbol.dispose]();
  }
});

movesInFlight('of a node that leaves are 8 at most too', () => {
  const { rules, world } = newScene();
  rules.leave(100);
  world.clock.advance(LEAVE_SPREAD_MS);
  const moving = Array.from({ length: MOVES_IN_FLIGHT_MAX }, (_, shard) => {
    assert.ok(rules.mayGiveUp);
    return rules.moving(shard);
  });
  assert.not(rules.mayGiveUp);
  moving[0]?.[Symbol.dispose]();
  assert.ok(rules.mayGiveUp);
});

movesInFlight('of one that leaves with nothing are not held back for ever', () => {
  const { rules, world } = newScene();
  rules.leave(0);
  for (let shard = 0; shard < 5; shard += 1) {
    assert.ok(rules.mayGiveUp, `shard ${shard}`);
    rules.moving(shard)[Symbol.dispose]();
    world.clock.advance(LEAVE_SPREAD_MS / MOVES_IN_FLIGHT_MAX);
  }
});

for (const suite of [views, rest, movesInFlight]) suite.run();
