import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { DEADLINE_SWEEP_MS } from '#grpc/call-bounds';
import { DeadlineSweep } from '#grpc/frame-client';
import type { Clock } from '#stdlib/clock';

/** A clock whose single timer fires when the test decides, with any delay. */
class BusyClock implements Clock {
  nowMs = 1_000;
  waiting: (() => void)[] = [];

  wallMs(): number {
    return this.nowMs;
  }

  monotonicMs(): number {
    return this.nowMs;
  }

  after(delayMs: number, task: () => void): Disposable {
    assert.is(delayMs, DEADLINE_SWEEP_MS);
    this.waiting.push(task);
    return { [Symbol.dispose]: () => void this.waiting.splice(this.waiting.indexOf(task), 1) };
  }

  /** Fires the timer `lateMs` after its due time. */
  ring(lateMs: number): void {
    this.nowMs += DEADLINE_SWEEP_MS + lateMs;
    this.waiting.shift()?.();
  }
}

/** Starts a sweep, which continues while `left.hasMore`. `looks` has the time of each check. */
function begun() {
  const clock = new BusyClock();
  const looks: number[] = [];
  const left = { hasMore: true };
  const sweep = new DeadlineSweep(clock, (nowMs) => {
    looks.push(nowMs);
    return left.hasMore;
  });
  sweep.start(clock.nowMs);
  return { clock, looks, left, sweep };
}

const sweeping = suite('a sweep of deadlines');

sweeping('checks every ten milliseconds with one timer, and ends with the last deadline', () => {
  const { clock, looks, left, sweep } = begun();
  sweep.start(clock.nowMs);
  assert.is(clock.waiting.length, 1);
  clock.ring(0);
  clock.ring(DEADLINE_SWEEP_MS);
  assert.equal(looks, [1_010, 1_030]);
  left.hasMore = false;
  clock.ring(0);
  assert.is(looks.length, 3);
  assert.is(clock.waiting.length, 0);
  sweep.start(clock.nowMs);
  clock.ring(0);
  assert.is(looks.length, 4);
});

sweeping('postpones a late check once, so that received data is read first', () => {
  const { clock, looks } = begun();
  clock.ring(500);
  assert.equal(looks, []);
  clock.ring(500);
  assert.equal(looks, [2_020]);
  clock.ring(0);
  assert.equal(looks, [2_020, 2_030]);
  clock.ring(DEADLINE_SWEEP_MS + 1);
  assert.is(looks.length, 2, 'each stall postpones one sweep');
});

sweeping('has a single timer even if a check starts the sweep again', () => {
  const clock = new BusyClock();
  const sweep: DeadlineSweep = new DeadlineSweep(clock, (nowMs) => {
    sweep.start(nowMs);
    return true;
  });
  sweep.start(clock.nowMs);
  clock.ring(0);
  assert.is(clock.waiting.length, 1);
  sweep[Symbol.dispose]();
  assert.is(clock.waiting.length, 0);
});

sweeping.run();
