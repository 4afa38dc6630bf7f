import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  AGREED_VIEW_MS,
  LEAVE_SPREAD_MS,
  MOVE_COOLDOWN_MS,
  MOVES_IN_FLIGHT_MAX,
} from '#cluster/failover-timing';
import { RebalancingThrottle } from '#cluster/shard-planner';

/** The throttle of `me`, which sees the node `a`. The scene has its own time. */
class ThrottleScene {
  readonly throttle = new RebalancingThrottle();
  nowMs = 0;
  viewHash = 'same';

  /** Passes seconds. At the start of each second, `a` is present with the view `viewOfA`. */
  live(seconds: number, viewOfA = this.viewHash): void {
    for (let i = 0; i < seconds; i += 1) {
      this.throttle.look(this.viewHash, [{ node: 'a', viewHash: viewOfA }], this.nowMs);
      this.nowMs += 1_000;
    }
  }

  /** Passes seconds in which `a` is absent. */
  miss(seconds: number): void {
    for (let i = 0; i < seconds; i += 1) {
      this.throttle.look(this.viewHash, [], this.nowMs);
      this.nowMs += 1_000;
    }
  }

  mayMove(shard: number, planned = 0): boolean {
    return this.throttle.mayMove(shard, 'a', this.nowMs, planned);
  }

  mayGiveUp(planned = 0): boolean {
    return this.throttle.mayGiveUp(this.nowMs, planned);
  }

  moving(shard: number): Disposable {
    return this.throttle.moving(shard, this.nowMs);
  }
}

const AGREED_S = AGREED_VIEW_MS / 1_000;
const views = suite('a shard');

views('may be moved to a node that has had the same view for 3 s', () => {
  const scene = new ThrottleScene();
  scene.live(AGREED_S - 1);
  assert.not(scene.mayMove(1));
  scene.live(1);
  assert.ok(scene.mayMove(1));
  assert.not(scene.throttle.mayMove(1, 'absent', scene.nowMs));
});

views('may not be moved to a node that has had another view meanwhile', () => {
  const scene = new ThrottleScene();
  scene.live(AGREED_S);
  scene.live(1, 'else');
  assert.not(scene.mayMove(1));
  scene.live(AGREED_S - 1);
  assert.not(scene.mayMove(1));
  scene.live(1);
  assert.ok(scene.mayMove(1));
});

views('may not be moved right after a change of this node’s own view', () => {
  const scene = new ThrottleScene();
  scene.live(AGREED_S);
  scene.viewHash = 'changed';
  scene.live(1);
  assert.not(scene.mayMove(1));
  scene.live(AGREED_S - 1);
  assert.ok(scene.mayMove(1));
});

views(
  'may not be moved to a node that has just returned, even if its view is the same as before',
  () => {
    const scene = new ThrottleScene();
    scene.live(AGREED_S);
    scene.miss(6);
    scene.live(1);
    assert.not(scene.mayMove(1));
    scene.live(AGREED_S);
    assert.ok(scene.mayMove(1));
  },
);

const coolDown = suite('a shard that was moved');

coolDown('stays for 30 s, whether it arrived or left, while other shards may move', () => {
  const scene = new ThrottleScene();
  scene.live(AGREED_S);
  scene.moving(1)[Symbol.dispose]();
  scene.throttle.arrived(2, scene.nowMs);
  const allowed = (...shards: number[]) => shards.map((shard) => scene.mayMove(shard));
  assert.equal(allowed(1, 2, 3), [false, false, true]);
  scene.live(MOVE_COOLDOWN_MS / 1_000 - 1);
  assert.equal(allowed(1, 2), [false, false]);
  scene.live(1);
  assert.equal(allowed(1, 2), [true, true]);
});

const movesInFlight = suite('moves in flight');

movesInFlight('are limited to 8, including planned moves', () => {
  const scene = new ThrottleScene();
  scene.live(AGREED_S);
  assert.ok(scene.mayMove(99, MOVES_IN_FLIGHT_MAX - 1));
  assert.not(scene.mayMove(99, MOVES_IN_FLIGHT_MAX));
  const moving = Array.from({ length: MOVES_IN_FLIGHT_MAX }, (_, shard) => {
    assert.ok(scene.mayMove(shard));
    return scene.moving(shard);
  });
  assert.not(scene.throttle.hasRoom());
  assert.not(scene.mayMove(99));
  moving[0]?.[Symbol.dispose]();
  assert.ok(scene.mayMove(99));
  assert.not(scene.mayMove(99, 1));
});

movesInFlight('of a leaving node are spread over time', () => {
  const scene = new ThrottleScene();
  assert.not(scene.mayGiveUp(), 'the node does not leave yet');
  scene.throttle.leave(100, scene.nowMs);
  assert.ok(scene.throttle.isLeaving);
  const givenUp: number[] = [];
  for (let step = 0; step < 10; step += 1) {
    let given = 0;
    for (; scene.mayGiveUp(); given += 1) scene.moving(given)[Symbol.dispose]();
    givenUp.push(given);
    scene.nowMs += LEAVE_SPREAD_MS / 10;
  }
  assert.equal(givenUp, [1, 10, 10, 10, 10, 10, 10, 10, 10, 10]);
  for (let late = 0; late < 50; late += 1) {
    assert.ok(scene.mayGiveUp(), 'a shard that arrives later moves immediately');
    scene.moving(late)[Symbol.dispose]();
  }
});

movesInFlight('of a leaving node include planned moves', () => {
  const scene = new ThrottleScene();
  scene.throttle.leave(100, scene.nowMs);
  assert.equal([scene.mayGiveUp(), scene.mayGiveUp(1)], [true, false]);
  scene.nowMs += LEAVE_SPREAD_MS / 50;
  assert.equal([scene.mayGiveUp(2), scene.mayGiveUp(3)], [true, false]);
});

movesInFlight('of a leaving node are limited to 8 too', () => {
  const scene = new ThrottleScene();
  scene.throttle.leave(100, scene.nowMs);
  scene.nowMs += LEAVE_SPREAD_MS;
  const moving = Array.from({ length: MOVES_IN_FLIGHT_MAX }, (_, shard) => {
    assert.ok(scene.mayGiveUp());
    return scene.moving(shard);
  });
  assert.not(scene.mayGiveUp());
  moving[0]?.[Symbol.dispose]();
  assert.equal([scene.mayGiveUp(), scene.mayGiveUp(1)], [true, false]);
});

movesInFlight('of a leaving node that had no shards at first are not blocked', () => {
  const scene = new ThrottleScene();
  scene.throttle.leave(0, scene.nowMs);
  for (let shard = 0; shard < 5; shard += 1) {
    assert.ok(scene.mayGiveUp(), `shard ${shard}`);
    scene.moving(shard)[Symbol.dispose]();
    scene.nowMs += LEAVE_SPREAD_MS / MOVES_IN_FLIGHT_MAX;
  }
});

for (const one of [views, coolDown, movesInFlight]) one.run();
