import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Bus, Sender } from '#bus/bus';
import { ClockWatch } from '#cluster/clocks';
import { ManualClock } from '#test/support/manual-clock';
import { turnOfEvents } from '#test/support/settled';
import { noteLogger } from '#test/support/test-logger';

const HOUR_MS = 3_600_000;

/** The clock of a process that pauses: timers fire late while the time continues. */
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

/** Listener for messages whose content is irrelevant here. */
type SenderListener = (sender: Sender) => void;

/**
 * A process whose bus delivers heartbeats with sender and time. `servers`: clocks of the database
 * servers.
 */
function newScene(servers?: (trueMs: number) => Promise<number[]>) {
  const clock = new StallingClock();
  const heard: Record<'known' | 'strangers', SenderListener[]> = { known: [], strangers: [] };
  const bus: Bus = {
    incarnation: 'self',
    isConnected: true,
    publish: () => undefined,
    subscribe(_, listener, onStranger) {
      heard.known.push((sender) => listener(new Uint8Array(), sender));
      heard.strangers.push((sender) => onStranger?.(sender));
      return { [Symbol.dispose]: () => undefined };
    },
    [Symbol.asyncDispose]: async () => undefined,
  };
  const notices: string[] = [];
  const logger = noteLogger((notice) => void notices.push(notice));
  let stepped = 0;
  let asked = 0;
  const trueMs = (): number => clock.wallMs() - stepped;
  const serverClocks = servers && {
    read: async () => {
      asked += 1;
      return await servers(trueMs());
    },
  };
  const watch = new ClockWatch({ bus, clock, prefix: 'test', serverClocks, logger });
  const step = (byMs: number) => {
    stepped += byMs;
    clock.stepWall(byMs);
  };
  const say = (kind: keyof typeof heard, names: readonly string[]) => {
    for (const [at, incarnation] of names.entries()) {
      const sentAtMs = incarnation === 'self' ? clock.wallMs() : trueMs();
      heard[kind][at % 2]?.({ incarnation, sentAtMs });
    }
  };
  /**
   * Passes seconds in which these processes, alternately engines and limiters, send heartbeats.
   * With 0 seconds, each process sends one heartbeat and no time passes.
   */
  const liveAmong = (kind: keyof typeof heard, seconds: number, ...names: string[]) => {
    if (seconds === 0) say(kind, names);
    for (let second = 0; second < seconds; second += 1) {
      say(kind, names);
      clock.advance(1_000);
    }
  };
  const live = (seconds: number, ...names: string[]) => liveAmong('known', seconds, ...names);
  const hear = (incarnation: string, sentAtMs: number) =>
    heard.known[0]?.({ incarnation, sentAtMs });
  return { clock, watch, notices, step, live, liveAmong, hear, asked: () => asked };
}

const watched = suite('a process that compares its clock');

watched('is unsure until it receives messages of two other processes', () => {
  const { watch, live } = newScene();
  assert.is(watch.verdict, 'unsure');
  live(5, 'self', 'a');
  assert.is(watch.verdict, 'unsure');
  live(1, 'a', 'b');
  assert.is(watch.verdict, 'agreed');
});

watched('detects its own clock step immediately, steps aside after 3 s, and recovers', () => {
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
  assert.match(notices[0] ?? '', /differs from the other nodes.* aheadSeconds=3600$/);
});

watched('stays deviating and aside when the other processes fall silent or restart', () => {
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

watched(
  'is unsure instead of deviating if its clock is corrected while no other process is left',
  () => {
    const { watch, step, live } = newScene();
    live(2, 'a', 'b');
    step(HOUR_MS);
    live(12, 'a', 'b');
    live(10);
    step(-HOUR_MS + 2_000);
    live(1);
    assert.equal([watch.verdict, watch.isAside], ['unsure', false]);
  },
);

watched('does not become deviating because of messages that waited during a pause', () => {
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

watched('stays deviating after a pause if it was deviating before', () => {
  const { clock, watch, step, live } = newScene();
  live(2, 'a', 'b');
  step(HOUR_MS);
  live(5, 'a', 'b');
  clock.stall(70_000);
  live(1);
  assert.equal([watch.verdict, watch.isAside], ['deviating', true]);
});

const started = suite('a process that starts with a wrong clock');

started('is deviating because of messages that its bus drops, and steps aside immediately', () => {
  const { watch, notices, step, liveAmong } = newScene();
  step(20 * 24 * HOUR_MS);
  liveAmong('strangers', 1, 'a');
  assert.equal([watch.verdict, watch.isAside], ['unsure', false]);
  liveAmong('strangers', 1, 'a', 'b');
  assert.equal([watch.verdict, watch.isAside], ['deviating', true]);
  assert.match(notices[0] ?? '', /differs from the other nodes.* aheadSeconds=1728000$/);
  step(-20 * 24 * HOUR_MS);
  liveAmong('known', 1, 'a', 'b');
  assert.equal([watch.verdict, watch.isAside], ['agreed', false]);
});

started('does not change the verdict of a process that agrees with two others', () => {
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

const few = suite('a process with time servers, and fewer than two other processes,');

/** Answers of the servers, at these offsets to the true time. */
const showing =
  (...offMs: number[]) =>
  async (trueMs: number) =>
    offMs.map((off) => trueMs + off);

few('agrees when most servers confirm its clock, alone or with one other process', async () => {
  const { watch, live } = newScene(showing(0, 59_000, HOUR_MS));
  assert.is(watch.verdict, 'unsure', 'no server has answered yet');
  await turnOfEvents();
  assert.is(watch.verdict, 'agreed');
  live(2, 'a');
  assert.is(watch.verdict, 'agreed');
});

few('is unsure when half of the servers contradict it, or the other process does', async () => {
  const half = newScene(showing(0, HOUR_MS));
  await turnOfEvents();
  assert.is(half.watch.verdict, 'unsure');
  const other = newScene(showing(0));
  await turnOfEvents();
  other.hear('a', other.clock.wallMs() + HOUR_MS);
  assert.is(other.watch.verdict, 'unsure');
});

few(
  'is unsure after its own clock step, and never deviating because of servers alone',
  async () => {
    const { watch, step, live } = newScene(showing(0));
    await turnOfEvents();
    step(HOUR_MS);
    for (let second = 0; second < 60; second += 1) {
      live(1, 'a');
      await turnOfEvents();
      assert.equal([watch.verdict, watch.isAside], ['unsure', false]);
    }
  },
);

few('is unsure half a minute after the last answer', async () => {
  let isThere = true;
  const { clock, watch } = newScene(async (trueMs) => {
    if (isThere) return [trueMs];
    throw new Error('no answer');
  });
  await turnOfEvents();
  isThere = false;
  for (let second = 0; second < 30; second += 1) {
    clock.advance(1_000);
    await turnOfEvents();
  }
  assert.is(watch.verdict, 'agreed');
  clock.advance(1_000);
  assert.is(watch.verdict, 'unsure');
});

few('does not trust an answer that took 10 s', async () => {
  const { promise, resolve } = Promise.withResolvers<number[]>();
  const answers = [promise];
  const { clock, watch } = newScene(async () => await (answers.pop() ?? Promise.reject()));
  const shownMs = clock.wallMs();
  clock.advance(10_001);
  resolve([shownMs]);
  await turnOfEvents();
  assert.is(watch.verdict, 'unsure');
});

few(
  'queries the servers every 10 s, except while it receives messages of two other processes',
  async () => {
    const { asked, live } = newScene(showing(0));
    await turnOfEvents();
    live(60, 'a');
    assert.is(asked(), 7);
    live(60, 'a', 'b');
    assert.is(asked(), 7);
  },
);

few('agrees with its servers after the processes that contradicted it fall silent', async () => {
  const { clock, watch, live, hear } = newScene(showing(0));
  live(2, 'a', 'b');
  // A process that has the secret sends as two senders, whose clocks then step.
  for (const name of ['a', 'b']) hear(name, clock.wallMs() + HOUR_MS);
  assert.is(watch.verdict, 'deviating');
  for (let second = 0; second < 17; second += 1) {
    clock.advance(1_000);
    await turnOfEvents();
  }
  assert.equal([watch.verdict, watch.isAside], ['agreed', false]);
});

for (const each of [watched, started, few]) each.run();
