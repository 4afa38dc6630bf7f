import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { HistoryRows } from '#pages/instance/history-rows';
import {
  firstRowAt,
  lastFirstRow,
  rowAfterKey,
  scrollHeightOf,
  scrollTopOf,
} from '#pages/parts/scrolled-list';
import { rowOf } from '#test/console/pages/instance/reports';

/** Ten rows and the header are visible. */
const SEEN = { rowPx: 40, viewPx: 440, shown: 10 };
const FEW = { rows: 100, ...SEEN };
const MANY = { rows: 1_000_000, ...SEEN };

const scrolled = suite('a scrolled list of rows');

scrolled('of few rows is as tall as its rows, and moves by whole rows', () => {
  assert.is(scrollHeightOf(FEW), 4_040);
  assert.equal(
    [0, 40, 60, 3_600, 9_999].map((top) => firstRowAt(FEW, top)),
    [0, 1, 2, 90, 90],
  );
  assert.is(scrollTopOf(FEW, 3), 120);
});

scrolled(
  'of a million rows stays within the browsers’ maximum height, and reaches both ends',
  () => {
    const height = scrollHeightOf(MANY);
    assert.is(height, 10_000_000);
    assert.is(firstRowAt(MANY, 0), 0);
    assert.is(firstRowAt(MANY, height - 440), 999_990);
    assert.is(lastFirstRow(MANY), 999_990);
    for (const row of [1, 2, 499_999, 999_989]) {
      assert.is(firstRowAt(MANY, scrollTopOf(MANY, row)), row, `row ${row} is found again`);
    }
  },
);

scrolled('that fits the view does not move', () => {
  const short = { rows: 4, ...SEEN };
  assert.equal([firstRowAt(short, 50), scrollTopOf(short, 3), lastFirstRow(short)], [0, 0, 0]);
});

scrolled('moves row by row with the keyboard, even among a million rows', () => {
  const keys = ['ArrowDown', 'ArrowUp', 'PageDown', 'PageUp', 'Home', 'End', 'Tab'];
  assert.equal(
    keys.map((key) => rowAfterKey(key, 500, MANY)),
    [501, 499, 509, 491, 0, 999_990, undefined],
  );
  assert.equal(
    [rowAfterKey('ArrowUp', 0, MANY), rowAfterKey('PageDown', 999_985, MANY)],
    [0, 999_990],
  );
});

const kept = suite('cached rows');

kept('are found by cycle, and the newest missing row is reported', () => {
  const rows = new HistoryRows();
  rows.add([rowOf(9), rowOf(8), rowOf(6)]);
  assert.is(rows.get(8)?.cycle, 8);
  assert.equal([rows.missing(9, 8), rows.missing(9, 5), rows.missing(12, 8)], [undefined, 7, 12]);
});

kept('are bounded in number: the rows that arrived first are evicted', () => {
  const rows = new HistoryRows();
  for (let cycle = 1; cycle <= 4_000; cycle += 1) rows.add([rowOf(cycle)]);
  rows.add([rowOf(1), rowOf(4_001)]);
  assert.equal([rows.get(1)?.cycle, rows.get(2), rows.get(3)?.cycle], [1, undefined, 3]);
});

for (const each of [scrolled, kept]) each.run();
