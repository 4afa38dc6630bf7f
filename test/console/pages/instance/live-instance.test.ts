import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { eventOf, type InstanceEvent } from '#pages/instance/events';
import { KEPT_MAX, LiveInstance } from '#pages/instance/live';
import { cycleEvent, reportAt } from '#test/console/pages/instance/reports';

const OPENED = { kind: 'opened' } as const;

const stateEvent = (ordinal: number, cycle = ordinal): InstanceEvent => ({
  kind: 'state',
  ordinal,
  report: reportAt(cycle),
});

function after(events: readonly InstanceEvent[]) {
  const live = new LiveInstance();
  for (const event of events) live.apply(event);
  return live.view();
}

/** Observation number and cycle of each drawn state. */
const placesOf = ({ points }: ReturnType<typeof after>) =>
  points.map(({ ordinal, report }) => [ordinal, report.snapshot.cycle]);

const events = suite('the events of a stream');

events('are parsed: cycles and states have the last event id as their ordinal', () => {
  const observation = { cycle: 2 };
  assert.equal(eventOf('cycle', '7', JSON.stringify({ observation, drift: null })), {
    ...{ kind: 'cycle', ordinal: 7, observation, drift: null },
  });
  assert.equal(eventOf('state', '7', '{"snapshot":1}'), {
    ...{ kind: 'state', ordinal: 7, report: { snapshot: 1 } },
  });
  assert.equal(eventOf('gap', '7', '{"from":1,"to":3}'), { kind: 'gap', from: 1, to: 3 });
  assert.equal(eventOf('reset', '7', '{"generation":2}'), { kind: 'reset', generation: 2 });
  assert.equal(eventOf('deleted', '7', '{}'), { kind: 'deleted' });
});

const live = suite('the page state of an instance');

live('starts with a state whose time is not known', () => {
  const view = after([OPENED, stateEvent(12)]);
  assert.is(view.now?.snapshot.cycle, 12);
  assert.equal(placesOf(view), [[12, 12]]);
  assert.equal([view.points[0]?.at, view.generation], [undefined, undefined]);
});

live('places each state at the observation that caused it', () => {
  const burst = [cycleEvent(13), cycleEvent(14), stateEvent(14), cycleEvent(15), stateEvent(15)];
  const view = after([OPENED, stateEvent(12), ...burst]);
  assert.equal(placesOf(view), [
    [12, 12],
    [14, 14],
    [15, 15],
  ]);
  assert.is(view.points[1]?.at, '2026-01-15T12:14:00.000Z');
  assert.equal([view.cycleCount, view.stateCount, view.generation], [3, 3, 1]);
});

live('draws a state after a reconnect only when the observations before it have arrived', () => {
  const begun = [OPENED, stateEvent(12), cycleEvent(13), stateEvent(13)];
  const again = after([...begun, OPENED, stateEvent(13, 15)]);
  assert.equal([again.now?.snapshot.cycle, placesOf(again).at(-1)], [15, [13, 13]]);
  const view = after([...begun, OPENED, stateEvent(13, 15), cycleEvent(14), cycleEvent(15)]);
  assert.equal(placesOf(view), [
    [12, 12],
    [13, 13],
    [15, 15],
  ]);
  assert.is(view.points.at(-1)?.at, '2026-01-15T12:15:00.000Z');
});

live('assigns a state after a reconnect and a reset to its own generation', () => {
  const view = after([
    ...[OPENED, stateEvent(1), OPENED, stateEvent(1, 2)],
    ...[cycleEvent(2), { kind: 'reset', generation: 2 } as const],
    ...[cycleEvent(3, 1, 2), cycleEvent(4, 2, 2)],
  ]);
  assert.equal(placesOf(view), [
    [1, 1],
    [4, 2],
  ]);
  assert.is(view.generation, 2);
});

live('adds a state for a reset, but none for a rename', () => {
  const reset = [{ kind: 'reset', generation: 2 } as const, stateEvent(12, 0)];
  const view = after([OPENED, stateEvent(12), stateEvent(12), ...reset]);
  assert.equal(placesOf(view), [
    [12, 12],
    [12, 0],
  ]);
  assert.is(view.generation, 2);
});

live('reports deleted history, and a deleted instance', () => {
  const view = after([{ kind: 'gap', from: 3, to: 9 }, { kind: 'deleted' }]);
  assert.equal(view.gap, { from: 3, to: 9 });
  assert.ok(view.isDeleted);
});

live('keeps a bounded number of observations and states, and counts them all', () => {
  const total = 3 * KEPT_MAX + 7;
  const many = Array.from({ length: total }, (_, n) => [cycleEvent(n + 1), stateEvent(n + 1)]);
  const view = after([OPENED, ...many.flat()]);
  assert.equal([view.points.length, view.cycles.length], [KEPT_MAX, KEPT_MAX]);
  assert.equal([view.points.at(-1)?.ordinal, view.points[0]?.ordinal], [total, total - 1_999]);
  assert.equal([view.cycleCount, view.stateCount], [total, total]);
});

live('is immutable: later events do not change it', () => {
  const instance = new LiveInstance();
  instance.apply(stateEvent(1));
  const view = instance.view();
  instance.apply(cycleEvent(2));
  instance.apply(stateEvent(2));
  assert.equal([view.points.length, view.cycles.length, view.stateCount], [1, 0, 1]);
});

for (const each of [events, live]) each.run();
