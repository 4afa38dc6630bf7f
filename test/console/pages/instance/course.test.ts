import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { DriftEvent, PastState } from '#clients/typescript/src/models';
import { Course, Courses } from '#pages/instance/course';
import type { FollowedState, InstanceEvent } from '#pages/instance/events';
import { LiveInstance } from '#pages/instance/live';
import { cyclesToLoad, including, panned, zoomed } from '#pages/instance/zoom';
import { cycleEvent, reportAt, rowOf } from '#test/console/pages/instance/reports';

const WHOLE = [0, 100] as const;

const zoom = suite('the visible part of a course');

zoom('keeps the place below the pointer when it shrinks and grows', () => {
  assert.equal(zoomed(WHOLE, WHOLE, 2, 20), [10, 60]);
  assert.equal(zoomed([10, 60], WHOLE, 2, 60), [35, 60]);
  assert.equal(zoomed([0, 50], WHOLE, 1.25, 0), [0, 40]);
});

zoom('is the whole course if it grows beyond the ends', () => {
  assert.is(zoomed([10, 60], WHOLE, 0.5), undefined);
  assert.is(zoomed([0, 3], [0, 3], 2), undefined, 'a short course cannot be zoomed');
});

zoom('has at least four cycles', () => {
  assert.equal(zoomed([50, 55], WHOLE, 100, 50), [50, 54]);
});

zoom('stays inside the course when it moves', () => {
  assert.equal(panned([10, 30], WHOLE, -25), [0, 20]);
  assert.equal(panned([70, 90], WHOLE, 25), [80, 100]);
  assert.equal(panned([70, 90], WHOLE, 5), [75, 95]);
});

zoom('moves by the least amount that shows a state', () => {
  assert.equal(including([10, 30], WHOLE, 20), [10, 30]);
  assert.equal(including([10, 30], WHOLE, 5), [5, 25]);
  assert.equal(including([10, 30], WHOLE, 40), [20, 40]);
});

const loading = suite('the cycles to load');

loading('are even between two known states, and never more than allowed', () => {
  assert.equal(cyclesToLoad([0, 110], [0, 110], 10), [10, 20, 30, 40, 50, 60, 70, 80, 90, 100]);
});

loading('fill the widest gaps first', () => {
  assert.equal(cyclesToLoad([0, 10, 100], [0, 100], 3), [33, 55, 78]);
});

loading('are all missing cycles if there are few, and include the edges', () => {
  assert.equal(cyclesToLoad([7], [5, 9], 10), [5, 6, 8, 9]);
});

loading('leave gaps that are too narrow to see', () => {
  const known = Array.from({ length: 201 }, (_, index) => 256 * index);
  assert.equal(cyclesToLoad(known, [0, 51_200], 10), []);
  assert.is(cyclesToLoad(known, [0, 1_024], 10).length, 10);
});

const stateAt = (cycle: number): PastState => ({
  ...reportAt(cycle),
  ...{ cycle, timestamp: rowOf(cycle).timestamp, model_version: '1.0' },
});

const driftAt = (cycle: number, generation: number) =>
  ({ cycle, generation, drift_level: 'D1', rolled_back: false }) as DriftEvent;

const course = suite('the course of a generation');

course('is in the order of cycles, however it was loaded', () => {
  const one = new Course(1);
  one.addStates([stateAt(0), stateAt(9)]);
  one.addStates([stateAt(4)]);
  assert.equal(
    one.points.map(({ x }) => x),
    [0, 4, 9],
  );
  assert.equal(one.extent, [0, 9]);
});

course('ends at its last observation, because its last state may not be stored', () => {
  const one = new Course(1);
  one.addStates([stateAt(0)]);
  one.addObservations([rowOf(40), rowOf(39)]);
  assert.equal(one.extent, [0, 40]);
  assert.ok(one.missing(one.extent).includes(40));
});

course('begins before its first observation, if its first state is not known', () => {
  const one = new Course(2);
  one.addStates([stateAt(100)]);
  one.addObservations([rowOf(1, 2), rowOf(2, 2)]);
  assert.equal(one.extent, [0, 100]);
  assert.ok(one.missing(one.extent).includes(0));
});

course('wants no cycle that is not stored any more', () => {
  const one = new Course(1);
  one.addStates([stateAt(0), stateAt(100)]);
  one.beginAt(50);
  assert.ok(one.missing([0, 100]).every((cycle) => cycle >= 50));
  one.beginAt(Number.POSITIVE_INFINITY);
  assert.equal(one.missing([0, 100]), []);
});

course('stays bounded, and keeps the newest states of a long session', () => {
  const one = new Course(1);
  for (let cycle = 0; cycle < 10_000; cycle += 1) {
    one.addPoint({ x: cycle, at: undefined, report: reportAt(cycle) });
  }
  assert.ok(one.points.length <= 4_000, `${one.points.length}`);
  assert.equal([one.points[0]?.x, one.points.at(-1)?.x], [0, 9_999]);
});

const live = suite('the courses of a live instance');

const stateEvent = (ordinal: number, cycle = ordinal): InstanceEvent => ({
  kind: 'state',
  ordinal,
  report: reportAt(cycle) as FollowedState,
});

live('take each state and observation of the stream into its generation once', () => {
  const instance = new LiveInstance(1);
  const courses = new Courses();
  const apply = (...events: InstanceEvent[]) => {
    for (const event of events) instance.apply(event);
    courses.take(instance.view());
  };
  apply({ kind: 'opened' }, stateEvent(0));
  apply(cycleEvent(1, 1, 1, driftAt(1, 1)), stateEvent(1), cycleEvent(2), stateEvent(2));
  apply();
  apply({ kind: 'reset', generation: 2 }, stateEvent(2, 0), cycleEvent(3, 1, 2), stateEvent(3, 1));
  const summary = [1, 2].map((generation) => {
    const { points, observations, drifts } = courses.of(generation);
    return [points.map(({ x }) => x), observations.map(({ cycle }) => cycle), drifts.length];
  });
  assert.equal(summary, [
    [[0, 1, 2], [1, 2], 1],
    [[0, 1], [1], 0],
  ]);
});

live('keep the generations of a page of history apart', () => {
  const courses = new Courses();
  courses.addRows([rowOf(1, 2), rowOf(5, 1), rowOf(4, 1)], [driftAt(4, 1)]);
  assert.equal(
    [1, 2].map((generation) => courses.of(generation).observations.length),
    [2, 1],
  );
  assert.is(courses.of(1).driftAt(4)?.drift_level, 'D1');
});

for (const each of [zoom, loading, course, live]) each.run();
