import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { PROGRESS_PERIOD_MS, SLOW_MS, STALLED_MS } from '#cluster/failover-timing';
import { JournalProgress } from '#cluster/journal-progress';

const LOOK_MS = 250;
const SECOND = 1_000 / LOOK_MS;

/** Progress of the journals of `a` and `b` with a simulated clock. Calls `look` every 250 ms. */
class ProgressScene {
  nowMs = 0;
  readonly progress = new JournalProgress('engine', 0);
  readonly next = { a: 0, b: 0 };
  reads = 0;

  /**
   * Calls `look` `count` times. After each call, reads the journals whose head is not recent.
   * `each` runs before a call and returns the duration of this process's slowest append.
   */
  looks(count: number, each: (look: number) => number | undefined = () => undefined): void {
    for (let look = 0; look < count; look += 1) {
      this.nowMs += LOOK_MS;
      this.progress.look(each(look) ?? 0, this.nowMs);
      for (const name of ['a', 'b'] as const) this.read(name);
    }
  }

  read(name: 'a' | 'b', tookMs = 0): void {
    if (this.progress.recentHead(name, this.nowMs) !== undefined) return;
    this.reads += 1;
    const beganMs = this.nowMs;
    for (; this.nowMs < beganMs + tookMs; this.nowMs += LOOK_MS) {
      this.progress.look(0, this.nowMs);
    }
    const head = { address: `${name}:1`, next: this.next[name], lowWaterMark: 0, isSealed: false };
    this.progress.read(name, head, { beganMs, nowMs: this.nowMs });
  }

  get stalled(): readonly boolean[] {
    return [this.progress.isStalled('a'), this.progress.isStalled('b')];
  }
}

const stalled = suite('a watched journal');

stalled('is stalled after 5 s without growth, and not earlier', () => {
  const scene = new ProgressScene();
  scene.looks(STALLED_MS.engine / LOOK_MS);
  assert.equal(scene.stalled, [false, false]);
  scene.looks(SECOND);
  assert.equal(scene.stalled, [true, true]);
});

stalled('is not stalled if it grows every 4 s', () => {
  const scene = new ProgressScene();
  scene.looks(40, (look) => {
    if (look % 16 === 0) scene.next.a += 1;
    return undefined;
  });
  assert.equal(scene.stalled, [false, true]);
});

stalled('is read once a second', () => {
  const scene = new ProgressScene();
  scene.looks(3 * SECOND);
  assert.is(scene.reads, 2 * 3);
  assert.is(scene.progress.recentHead('c', scene.nowMs), undefined);
  const head = scene.progress.recentHead('a', scene.nowMs);
  assert.is(head?.address, 'a:1');
  assert.is(scene.progress.recentHead('a', scene.nowMs + PROGRESS_PERIOD_MS.engine), undefined);
});

stalled('is not stalled after the watcher has forgotten the journal', () => {
  const scene = new ProgressScene();
  scene.looks(6 * SECOND);
  scene.progress.forget('a');
  assert.equal(scene.stalled, [false, true]);
});

const own = suite('the stall timers of all journals');

own('restart when an append of this process took a second', () => {
  const scene = new ProgressScene();
  scene.looks(5 * SECOND, (look) => (look === 10 ? SLOW_MS : undefined));
  scene.looks(SECOND);
  assert.equal(scene.stalled, [false, false]);
  scene.looks(3 * SECOND);
  assert.equal(scene.stalled, [true, true]);
});

own('continue when an append took a little less than a second', () => {
  const scene = new ProgressScene();
  scene.looks(6 * SECOND, () => SLOW_MS - 1);
  assert.equal(scene.stalled, [true, true]);
});

own('restart when a read took a second', () => {
  const scene = new ProgressScene();
  scene.looks(5 * SECOND);
  scene.nowMs += LOOK_MS;
  scene.read('a', SLOW_MS);
  scene.looks(2 * SECOND);
  assert.equal(scene.stalled, [false, false]);
});

own('restart when a read of one journal has failed', () => {
  const scene = new ProgressScene();
  scene.looks(5 * SECOND);
  scene.progress.unread('a', scene.nowMs);
  scene.looks(2 * SECOND);
  assert.equal(scene.stalled, [false, false]);
});

own('restart when this process was paused', () => {
  const scene = new ProgressScene();
  scene.looks(4 * SECOND);
  scene.nowMs += 20_000;
  scene.looks(SECOND);
  assert.equal(scene.stalled, [false, false]);
});

for (const one of [stalled, own]) one.run();
