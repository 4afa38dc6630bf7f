import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Bus, Sender } from '#bus/bus';
import { ClockWatch } from '#cluster/clock-watch';
import { ManualClock } from '#test/support/manual-clock';

const HOUR_MS = 3_600_000;

/** A process that is held up for a while: its tasks run late, its clocks go on. */
class StallingClock extends ManualClock {
  #stalledMs = 0;

  override wallMs(): number {
    return super.wallMs() + this.#stalledMs;
  }

  override monotonicMs(): number {
    return super.monotonicMs() + this.#stalledMs;
  }

  stall(durationMs: number): void {
    this.#stalledMs += durationMs;
  }
}

/** Told of a message whose content means nothing here. */
type Told = (sender: Sender) => void;

/** A process whose bus says only who sent a heartbeat when. */
function newScene() {
  const clock = new StallingClock();
  const told: Record<'known' | 'strangers', Told[]> = { known: [], strangers: [] };
  const bus: Bus = {
    incarnation: 'self',
    isConnected: true,
    publish: () => undefined,
    subscribe(_, listener, onStranger) {
      told.known.push((sender) => listener(new Uint8Array(), sender));
      told.strangers.push((sender) => onStranger?.(sender));
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
  const say = (kind: keyof typeof told, names: readonly string[]) => {
    for (const [at, incarnation] of names.entries()) {
      const sentAtMs = incarnation === 'self' ? clock.wallMs() : trueMs();
      told[kind][at % 2]?.({ incarnation, sentAtMs });
    }
  };
  /** Seconds in which these are heard, an engine or a limiter each; 0: heard, and no time passes. */
  const liveAmong = (kind: keyof typeof told, seconds: number, ...names: string[]) => {
    if (seconds === 0) say(kind, names);
    for (let second = 0; second < seconds; second += 1) {
      say(kind, names);
      clock.advance(1_000);
    }
  };
  const live = (seconds: number, ...names: string[]) => liveAmong('known', seconds, ...names);
  const hear = (incarnation: string, sentAtMs: number) =>
    told.known[0]?.({ incarnation, sentAtMs });
  return { clock, watch, notices, step, live, liveAmong, hear };
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

watched('stays wrong and aside when the others fall silent or start again', () => {
  const { watch, step, live } = newScene();
  live(2, 'a', 'b');
  step(-HOUR_MS);
  live(5, 'a', 'b');
  assert.is(watch.isAside, true);
  live(7);
  assert.equal([watch.verdict, watch.isAside], ['deviating', true]);
  assert.is(watch.agreement.aheadMs, -HOUR_MS);
  live(2, 'c');
  assert.equal([watch.verdict, watch.isAside], ['deviating', true]);
  step(HOUR_MS);
  live(2, 'c', 'd');
  assert.equal([watch.verdict, watch.isAside], ['agreed', false]);
});

watched('is no longer wrong once it is mended, though nobody is left to say so', () => {
  const { watch, step, live } = newScene();
  live(2, 'a', 'b');
  step(HOUR_MS);
  live(12, 'a', 'b');
  live(10);
  step(-HOUR_MS + 2_000);
  live(1);
  assert.equal([watch.verdict, watch.isAside], ['unsure', false]);
});

watched('does not take for its own fault what waited while it stood still', () => {
  const { clock, watch, notices, live, hear } = newScene();
  live(3, 'a', 'b');
  const sentBeforeMs = clock.wallMs();
  clock.stall(70_000);
  for (let second = 0; second < 10; second += 1) {
    for (const name of ['a', 'b']) hear(name, sentBeforeMs + second * 1_000);
  }
  assert.is(watch.verdict, 'unsure');
  live(1);
  assert.is(watch.verdict, 'unsure');
  live(3, 'a', 'b');
  assert.equal([watch.verdict, notices], ['agreed', []]);
});

watched('that stood still stays wrong if it was', () => {
  const { clock, watch, step, live } = newScene();
  live(2, 'a', 'b');
  step(HOUR_MS);
  live(5, 'a', 'b');
  clock.stall(70_000);
  live(1);
  assert.equal([watch.verdict, watch.isAside], ['deviating', true]);
});

const started = suite('a process that starts with a wrong clock');

started('is found wrong by whom its bus drops, and is aside at once', () => {
  const { watch, notices, step, liveAmong } = newScene();
  step(20 * 24 * HOUR_MS);
  liveAmong('strangers', 1, 'a');
  assert.equal([watch.verdict, watch.isAside], ['unsure', false]);
  liveAmong('strangers', 1, 'a', 'b');
  assert.equal([watch.verdict, watch.isAside], ['deviating', true]);
  assert.match(notices[0] ?? '', /1728000 s ahead of that of the others/);
  step(-20 * 24 * HOUR_MS);
  liveAmong('known', 1, 'a', 'b');
  assert.equal([watch.verdict, watch.isAside], ['agreed', false]);
});

started('does not make one doubt itself that hears two others agree', () => {
  const { watch, live, liveAmong, step } = newScene();
  live(1, 'a', 'b');
  for (let second = 0; second < 5; second += 1) {
    step(HOUR_MS);
    liveAmong('strangers', 0, 'p', 'q', 'r', 's');
    step(-HOUR_MS);
    live(1, 'a', 'b');
  }
  assert.equal([watch.verdict, watch.isAside], ['agreed', false]);
});

for (const each of [watched, started]) each.run();
