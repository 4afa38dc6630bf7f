import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Feed } from '#engine/feed/feed';
import { FEED_AGE_MS, FEED_CHUNK_ROWS, FEED_ROWS_MAX, type FeedRow } from '#storage/ports/feeds';

const HOUR_MS = 3_600_000;
const START_MS = Date.UTC(2026, 0, 15, 12);

/** Rows `from` to `to`, each of another instance. */
const rowsOf = (from: number, to: number): FeedRow[] =>
  Array.from({ length: to - from + 1 }, (_, n) => [`i${from + n}`, 1, START_MS, [[0, 0, 0, 0]]]);

const idsIn = (rows: readonly FeedRow[]) => rows.map(([id]) => id);

const storing = suite('a stored feed');

storing('continues where it was, with whole chunks apart from its head', () => {
  const feed = new Feed(undefined, FEED_ROWS_MAX);
  feed.take({ rows: rowsOf(0, 2 * FEED_CHUNK_ROWS + 4), atMs: START_MS }, 1);
  const { head, chunks } = feed.copy('acc');
  assert.equal(
    chunks.map(({ chunk, rows }) => [chunk, rows.length, rows[0]?.[0]]),
    [
      [0, FEED_CHUNK_ROWS, 'i0'],
      [1, FEED_CHUNK_ROWS, `i${FEED_CHUNK_ROWS}`],
    ],
  );
  assert.equal([head.next, head.newest.length, head.version], [2 * FEED_CHUNK_ROWS + 5, 5, 1]);
  const later = new Feed(head, FEED_ROWS_MAX);
  later.take({ rows: rowsOf(900, 900), atMs: START_MS }, 2);
  const view = later.view(2 * FEED_CHUNK_ROWS, 99, START_MS);
  assert.equal(idsIn(view.rows), [...idsIn(head.newest), 'i900']);
});

storing('keeps rows that came during the write', () => {
  const feed = new Feed(undefined, FEED_ROWS_MAX);
  feed.take({ rows: rowsOf(0, FEED_CHUNK_ROWS - 1), atMs: START_MS }, 1);
  const copy = feed.copy('acc');
  feed.take({ rows: rowsOf(FEED_CHUNK_ROWS, FEED_CHUNK_ROWS + 1), atMs: START_MS }, 2);
  feed.forget(copy);
  const { rows, start, next } = feed.view(FEED_CHUNK_ROWS, 99, START_MS);
  assert.equal(
    [idsIn(rows), start, next],
    [[`i${FEED_CHUNK_ROWS}`, `i${FEED_CHUNK_ROWS + 1}`], FEED_CHUNK_ROWS, FEED_CHUNK_ROWS + 2],
  );
  feed.forget(copy);
  assert.is(feed.view(0, 0, START_MS).start, FEED_CHUNK_ROWS, 'a repeated write changes nothing');
});

const repeated = suite('a repeated row');

repeated('is not recorded again, also after a later version', () => {
  const feed = new Feed(undefined, FEED_ROWS_MAX);
  const row = (version: number): FeedRow => ['a', version, START_MS, []];
  feed.take({ rows: [row(3)], atMs: START_MS }, 1);
  assert.equal(feed.newIn([row(2), row(3), row(4)]), [row(4)]);
});

const keeping = suite('the age of a feed');

keeping('is seven days, also for a reader of a feed without new rows', () => {
  const feed = new Feed(undefined, FEED_ROWS_MAX);
  feed.take({ rows: rowsOf(0, 0), atMs: START_MS }, 1);
  feed.take({ rows: rowsOf(1, 1), atMs: START_MS + 2 * HOUR_MS }, 2);
  assert.is(feed.floorAt(START_MS + FEED_AGE_MS), 0);
  assert.is(feed.floorAt(START_MS + FEED_AGE_MS + HOUR_MS), 1);
  assert.is(feed.floorAt(START_MS + FEED_AGE_MS + 9 * HOUR_MS), 2, 'nothing is left');
});

// A process that keeps its data in memory would fill the memory with a week of changes.
keeping('drops the oldest rows of a store that has little room', () => {
  const feed = new Feed(undefined, 4);
  feed.take({ rows: rowsOf(0, 9), atMs: START_MS }, 1);
  assert.is(feed.copy('acc').head.floor, 6);
});

keeping('drops old hours when new rows come, and keeps its positions', () => {
  const feed = new Feed(undefined, FEED_ROWS_MAX);
  feed.take({ rows: rowsOf(0, 9), atMs: START_MS }, 1);
  const laterMs = START_MS + FEED_AGE_MS + 3 * HOUR_MS;
  feed.take({ rows: rowsOf(10, 10), atMs: laterMs }, 2);
  const { head } = feed.copy('acc');
  assert.equal([head.floor, head.next, head.hours.length], [10, 11, 1]);
});

keeping('does not begin an hour again after the clock stepped back', () => {
  const feed = new Feed(undefined, FEED_ROWS_MAX);
  feed.take({ rows: rowsOf(0, 0), atMs: START_MS + HOUR_MS }, 1);
  feed.take({ rows: rowsOf(1, 1), atMs: START_MS }, 2);
  feed.take({ rows: rowsOf(2, 2), atMs: START_MS + HOUR_MS }, 3);
  assert.equal(feed.copy('acc').head.hours, [[(START_MS + HOUR_MS) / HOUR_MS, 0]]);
});

for (const group of [storing, repeated, keeping]) group.run();
