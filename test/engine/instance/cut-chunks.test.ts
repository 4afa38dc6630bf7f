import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { CHUNK_BOUNDS, type Cut, cutChunks } from '#engine/instance/rows';
import { CHUNK_ROWS_MAX, NO_ROWS } from '#storage/ports/instances';
import { DRIFT_EVENTS, OBSERVATIONS } from '#storage/ports/rows';
import { driftRows, historyRows } from '#test/storage/contracts/rows';

const { history: HISTORY, drift: DRIFT } = CHUNK_BOUNDS;

/** Packed rows with these sizes. The character identifies the row. */
const rowsOf = (sizes: readonly number[]) =>
  sizes.map((size, index) => String.fromCharCode(33 + (index % 90)).repeat(size));

/** Cuts the rows with one checkpoint per part. */
function cutIn(parts: readonly (readonly string[])[], bounds = HISTORY): Cut {
  let all: Cut = { chunks: [], newest: NO_ROWS };
  let last = 0;
  for (const added of parts) {
    last += added.length;
    const { chunks, newest } = cutChunks(all.newest, added, last, bounds);
    all = { chunks: [...all.chunks, ...chunks], newest };
  }
  return all;
}

const head = suite('a head');

head('keeps 32 observations, and the next observation moves them to a chunk', () => {
  const rows = rowsOf(Array(33).fill(20));
  const { chunks, newest } = cutIn([rows.slice(0, 32)]);
  assert.equal([chunks, newest], [[], { after: 0, rows: rows.slice(0, 32).join('') }]);
  const more = cutIn([rows.slice(0, 32), rows.slice(32)]);
  assert.equal(more.chunks, [{ first: 1, last: 32, rows: rows.slice(0, 32).join('') }]);
  assert.equal(more.newest, { after: 32, rows: rows[32] });
});

head('keeps 8 drift events', () => {
  const rows = driftRows(1, 9).map(DRIFT_EVENTS.pack);
  const { chunks, newest } = cutIn([rows], DRIFT);
  assert.equal([chunks.map(({ last }) => last), newest.after], [[8], 8]);
});

head('keeps fewer rows if they are large, and none if a row exceeds the bound', () => {
  assert.is(cutIn([rowsOf([1_500, 1_500, 1_500])]).newest.after, 2);
  const { chunks, newest } = cutIn([rowsOf([100, 8_000, 8_000])]);
  assert.equal(
    chunks.map(({ first, last }) => [first, last]),
    [
      [1, 1],
      [2, 2],
      [3, 3],
    ],
  );
  assert.equal(newest, { after: 3, rows: '' });
});

head('keeps the same object if no rows are added', () => {
  assert.is(cutChunks(NO_ROWS, [], 0, HISTORY).newest, NO_ROWS);
});

head('keeps at most 6 KiB in both tables together', () => {
  assert.ok(HISTORY.bytesMax + DRIFT.bytesMax <= 6 * 1_024);
  assert.ok(HISTORY.rowsMax <= CHUNK_ROWS_MAX && DRIFT.rowsMax <= CHUNK_ROWS_MAX);
});

head('needs 13 bytes for an observation without a context', () => {
  const row = { generation: 1, cycle: 100, mode: 2, signal: 0.7, confidence: 0.85 };
  const whole = { ...row, ordinal: 1, contextJson: '{}', timestampMs: 1_768_478_400_000 };
  assert.is(OBSERVATIONS.pack(whole).length, 13);
});

const borders = suite('the borders of chunks');
const sizes = fc.array(
  fc.oneof(fc.integer({ min: 10, max: 200 }), fc.integer({ min: 1, max: 9_000 })),
  {
    maxLength: 150,
    size: 'max',
  },
);

borders('depend only on the rows, not on the checkpoints', () => {
  const property = fc.property(sizes, fc.array(fc.nat(150)), (each, places) => {
    const rows = rowsOf(each);
    const ends = [0, ...places.toSorted((a, b) => a - b), rows.length];
    const parts = ends.slice(1).map((end, index) => rows.slice(ends[index], end));
    assert.equal(cutIn(parts), cutIn([rows]));
    assert.equal(cutIn(rows.map((row) => [row])), cutIn([rows]));
  });
  fc.assert(property, { numRuns: 200 });
});

borders('omit no row and respect all limits', () => {
  const property = fc.property(sizes, (each) => {
    const rows = rowsOf(each);
    const { chunks, newest } = cutIn([rows]);
    assert.is([...chunks, newest].map((one) => one.rows).join(''), rows.join(''));
    let after = 0;
    for (const { first, last, rows: own } of chunks) {
      assert.is(first, after + 1);
      assert.ok(last >= first && last - after <= HISTORY.rowsMax);
      assert.ok(own.length <= HISTORY.bytesMax || first === last);
      after = last;
    }
    assert.is(newest.after, after);
    assert.ok(newest.rows.length <= HISTORY.bytesMax && rows.length - after <= HISTORY.rowsMax);
  });
  fc.assert(property, { numRuns: 200 });
});

borders('come after 32 typical observations', () => {
  const rows = historyRows(1, 64).map(OBSERVATIONS.pack);
  assert.equal(
    cutIn([rows]).chunks.map(({ last }) => last),
    [32],
  );
});

for (const group of [head, borders]) group.run();
