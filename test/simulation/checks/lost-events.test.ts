import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type LoggedEvent, missingEvents, numbered } from '#test/simulation/checks/lost-events';

const NOTHING = new Map<string, string>();

/** One event of each id, at positions from 3. Each event occurs a minute after the event before. */
function logged(...ids: readonly string[]): LoggedEvent[] {
  const events = ids.map((id, minute) => {
    return { id, type: 'renamed', occurred_at: new Date(minute * 60_000).toISOString() };
  });
  return numbered(events, 3, 3 + ids.length);
}

/** Failures of changes at these positions, newest first. */
function failedAt(failedMs: number, ...positions: readonly number[]) {
  const failed_at = new Date(failedMs).toISOString();
  return positions.map((position) => ({ position, failed_at }));
}

const positions = suite('the positions of logged events');

positions('count changes, also repeated changes, and not events', () => {
  const ids = ['inst_1-1-0', 'inst_1-1-1', 'inst_1-1-0', 'inst_1-1-1', 'inst_2-1-0'];
  const events = ids.map((id) => ({ id, occurred_at: '' }));
  assert.equal(
    numbered(events, 7, 10).map(({ position }) => position),
    [7, 7, 8, 8, 9],
  );
  assert.throws(() => numbered(events, 7, 11), /up to position 9, but its end is 11/);
});

positions.run();

const lost = suite('an event that was not delivered');

lost('is lost, unless its own change is listed as failed', () => {
  const events = logged('inst_1-1-0', 'inst_1-2-0');
  const [first, second] = events;
  const both = missingEvents(events, NOTHING, []);
  assert.equal(both, { lost: events, excused: 0 });
  // The failure of another change of the instance explains nothing.
  assert.equal(missingEvents(events, NOTHING, failedAt(0, 3)).lost, [second]);
  assert.equal(missingEvents(events, new Map([['inst_1-2-0', '']]), []).lost, [first]);
  assert.equal(missingEvents(events, NOTHING, failedAt(0, 4, 3)).lost, []);
});

lost('is excused by a full list, if the event is older than all listed failures', () => {
  const events = logged('inst_1-1-0', 'inst_1-2-0');
  const others = Array.from({ length: 200 }, (_, at) => 1_000 + at);
  const full = missingEvents(events, NOTHING, failedAt(30_000, ...others));
  assert.equal(full, { lost: events.slice(1), excused: 1 });
  const short = missingEvents(events, NOTHING, failedAt(30_000, ...others.slice(1)));
  assert.equal(short, { lost: events, excused: 0 });
});

lost.run();
