import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Bus, Listener } from '#bus/bus';
import { ClockWatch } from '#cluster/clock-watch';
import { ManualClock } from '#test/support/manual-clock';

const HOUR_MS = 3_600_000;

/** A process whose bus says only who sent a heartbeat when. */
function newScene() {
  const clock = new ManualClock();
  const listeners: Listener[] = [];
  const bus: Bus = {
    incarnation: 'self',
    isConnected: true,
    publish: () => undefined,
    subscribe(_, listener) {
      listeners.push(listener);
      return { [Symbol.dispose]: () => undefined };
    },
    [Symbol.asyncDispose]: async () => undefined,
  };
  const notices: string[] = [];
  const onNotice = (notice: string) => void notices.push(notice);
  const watch = new ClockWatch({ bus, clock, prefix: 'test', onNotice });
  const trueMs = (): number => clock.wallMs() - stepped;
  let stepped = 0;
  const step = (byMs: number) => {
    stepped += byMs;
    clock.stepWall(byMs);
  };
  /** A second in which these are heard, an engine or a limiter each. */
  const live = (seconds: number, ...names: string[]) => {
    for (let second = 0; second < seconds; second += 1) {
      for (const [at, incarnation] of names.entries()) {
        const sentAtMs = incarnation === 'self' ? clock.wallMs() : trueMs();
        listeners[at % 2]?.(new Uint8Array(), { incarnation, sentAtMs });
      }
      clock.advance(1_000);
    }
  };
  return { clock, watch, notices, step, live };
}

const watched = suite('a process that compares its clock');

watched('is unsure alone, with its own messages, and with one other', () => {
  const { watch, live } = newScene();
  assert.is(watch.verdict, 'unsure');
  live(5, 'self', 'a');
  assert.is(watch.verdict, 'unsure');
  live(1, 'a', 'b');
  assert.is(watch.verdict, 'agreed');
});

watched('finds a step of its own at once, stands aside after 3 s, and comes back', () => {
  const { watch, notices, step, live } = newScene();
  live(2, 'a', 'b');
  step(HOUR_MS);
  assert.equal([watch.verdict, watch.isAside], ['deviating', false]);
  live(2, 'a', 'b');
  assert.is(watch.isAside, false);
  live(3, 'a', 'b');
  assert.is(watch.isAside, true);
  step(-HOUR_MS);
  live(1, 'a', 'b');
  assert.equal([watch.verdict, watch.isAside], ['agreed', false]);
  assert.is(notices.length, 2);
  assert.match(notices[0] ?? '', /3600 s ahead of that of the others/);
});

watched('is unsure again when the others fall silent, and no longer aside', () => {
  const { watch, step, live } = newScene();
  live(2, 'a', 'b');
  step(-HOUR_MS);
  live(5, 'a', 'b');
  assert.is(watch.isAside, true);
  live(7);
  assert.equal([watch.verdict, watch.isAside], ['unsure', false]);
});

watched.run();
