import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Fault } from '#errors/fault';
import { mayTurnMonth, monthStepOf } from '#limiter/meter/events';
import type { ClockVerdict } from '#stdlib/clock';
import { custom, meterUnderTest } from '#test/limiter/limiter-fixture';

const FEBRUARY_MS = Date.UTC(2026, 1, 1);
const MARCH_MS = Date.UTC(2026, 2, 1);
const IN_2036_MS = Date.UTC(2036, 4, 7);

const step = suite('a month step');

step('starts the first month, the next month, or skips months', () => {
  assert.is(monthStepOf(0, IN_2036_MS), 'first');
  assert.is(monthStepOf(FEBRUARY_MS, FEBRUARY_MS), 'next');
  assert.is(monthStepOf(FEBRUARY_MS, MARCH_MS - 1), 'next');
  assert.is(monthStepOf(FEBRUARY_MS, MARCH_MS), 'later');
});

step('needs a clock that does not deviate, and an agreed clock to skip months', () => {
  const allowed = (verdict: ClockVerdict) =>
    (['first', 'next', 'later'] as const).map((each) => mayTurnMonth(each, verdict));
  assert.equal(allowed('agreed'), [true, true, true]);
  assert.equal(allowed('unsure'), [true, true, false]);
  assert.equal(allowed('deviating'), [false, false, false]);
});

/** A meter with 10 cycles a month, of which 3 were used in January. */
function usedInJanuary() {
  const scene = meterUnderTest(custom(1_000, 10));
  scene.admit(1, 3);
  scene.settle(1, 3);
  const jumpTo = (nowMs: number) => scene.clock.stepWall(nowMs - scene.clock.wallMs());
  const believe = (verdict: ClockVerdict): void => {
    scene.standing.verdict = verdict;
  };
  return { ...scene, jumpTo, believe };
}

const meter = suite('a meter whose clock jumps to 2036');

for (const verdict of ['deviating', 'unsure'] as const) {
  meter(`stays in its month while its clock is ${verdict}, and continues to count`, () => {
    const { meter: counted, now, admit, settle, jumpTo, believe } = usedInJanuary();
    believe(verdict);
    jumpTo(IN_2036_MS);
    assert.is(admit(2, 7).verdict, 'admitted');
    settle(2, 7);
    assert.is(admit(3, 1).verdict, 'quota_exceeded');
    assert.is(counted.usage(now())?.monthResetAtS, FEBRUARY_MS / 1_000);
    jumpTo(FEBRUARY_MS);
    believe('agreed');
    assert.is(admit(4, 10).verdict, 'admitted', 'the next month starts on time');
  });
}

meter('starts no first month if the clock is wrong, and then grants nothing', () => {
  const scene = meterUnderTest(custom(1_000, 10));
  scene.standing.verdict = 'deviating';
  assert.throws(
    () => scene.admit(1, 1),
    (fault: unknown) => fault instanceof Fault && fault.code === 'service_unavailable',
  );
  scene.standing.verdict = 'agreed';
  assert.is(scene.admit(1, 1).verdict, 'admitted');
});

const reset = suite('a meter that an operator may reset');

/** A meter whose wrong clock moved it to a month of 2036. The clock is in March 2026 again. */
function poisoned() {
  const scene = usedInJanuary();
  scene.jumpTo(IN_2036_MS);
  scene.admit(2, 4);
  scene.settle(2, 4);
  scene.jumpTo(MARCH_MS);
  return scene;
}

reset('stays in a month of 2036 without a reset', () => {
  const { meter: counted, now, admit } = poisoned();
  admit(3, 1);
  assert.is(counted.usage(now())?.monthResetAtS, Date.UTC(2036, 5, 1) / 1_000);
});

reset('is moved durably from 2036 to the present month, without usage', () => {
  const { meter: counted, now, turn, next } = poisoned();
  counted.resetMonth(turn());
  for (const each of [counted.usage(now()), next().meter.usage(now())]) {
    assert.equal(
      [each?.monthResetAtS, each?.cyclesUsed, each?.cyclesLost, each?.monthWatermark],
      [Date.UTC(2026, 3, 1) / 1_000, 0, 0, 0],
    );
  }
});

reset('is not reset while the clock of its limiter is wrong', () => {
  const { meter: counted, now, turn, believe } = poisoned();
  believe('deviating');
  assert.throws(() => counted.resetMonth(turn()), /clock of this limiter is wrong/);
  assert.is(counted.usage(now())?.monthResetAtS, Date.UTC(2036, 5, 1) / 1_000);
});

reset('is not reset if it is already in the present month', () => {
  const { meter: counted, now, turn, journal } = usedInJanuary();
  const records = journal.heads.length;
  counted.resetMonth(turn());
  assert.is(counted.usage(now())?.cyclesUsed, 3);
  assert.is(journal.heads.length, records);
});

for (const each of [step, meter, reset]) each.run();
