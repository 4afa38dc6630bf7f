import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { ListedInstance } from '#clients/typescript/src/models';
import { FleetRows, PAGE_ROWS, type WantedPage } from '#pages/fleet/rows';

const rowOf = (index: number): ListedInstance => ({
  ...{ id: `inst_${index.toString(16).padStart(16, '0')}`, name: `Agent ${index}` },
  ...{ description: '', created_at: '2026-01-15T12:00:00.000Z' },
  ...{ cycle_count: 0, energy_level: 0.8 },
});

/** Answers a wanted page of a fleet with `total` instances. Cursors are row numbers. */
function answer(rows: FleetRows, wanted: WantedPage | undefined, total: number): number {
  assert.ok(wanted, 'a page is missing');
  const first = wanted.offset ?? Number(wanted.cursor);
  const count = Math.min(PAGE_ROWS, total - first);
  const hasMore = first + count < total;
  rows.add(wanted, {
    data: Array.from({ length: count }, (_, index) => rowOf(first + index)),
    pagination: {
      ...{ limit: PAGE_ROWS, offset: first, total, has_more: hasMore },
      next_cursor: hasMore ? String(first + count) : null,
    },
  });
  return first;
}

const fleet = suite('the cached rows of a fleet');

fleet('of a million instances load only the pages that are looked at', () => {
  const rows = new FleetRows(false);
  const loaded = [answer(rows, rows.missing(0, 13), 1_000_000)];
  assert.is(rows.length, 1_000_000);
  assert.is(rows.missing(0, 99), undefined);
  for (const first of [999_990, 512_345, 7, 250]) {
    while (rows.missing(first, first + 13) !== undefined) {
      loaded.push(answer(rows, rows.missing(first, first + 13), 1_000_000));
    }
    assert.is(rows.at(first)?.name, `Agent ${first}`);
  }
  assert.equal(loaded, [0, 999_900, 512_300, 200]);
});

fleet('stay few while a person scrolls through all of them', () => {
  const rows = new FleetRows(false);
  answer(rows, rows.missing(0, 13), 50_000);
  for (let first = 0; first < 50_000; first += 100) {
    const wanted = rows.missing(first, first + 13);
    if (wanted !== undefined) answer(rows, wanted, 50_000);
  }
  assert.ok([...rows.rows()].length <= 2_100, `${[...rows.rows()].length}`);
});

fleet('in the order of changes load page after page, and keep every row', () => {
  const rows = new FleetRows(true);
  answer(rows, rows.missing(0, 13), 5_030);
  assert.is(rows.length, 2 * PAGE_ROWS, 'the list shows that it continues');
  for (let first = 0; first < 5_030; first += 50) {
    const wanted = rows.missing(first, first + 13);
    if (wanted !== undefined) answer(rows, wanted, 5_030);
  }
  assert.is(rows.length, 5_030);
  assert.is(rows.missing(5_020, 5_040), undefined, 'the last row is the end');
  for (const index of [0, 2_500, 5_029]) assert.is(rows.at(index)?.name, `Agent ${index}`);
});

fleet('change in place', () => {
  const rows = new FleetRows(false);
  answer(rows, rows.missing(0, 13), 20);
  const { id } = rowOf(7);
  assert.ok(rows.change(id, (row) => ({ ...row, stress_state: 'HIGH' })));
  assert.is(rows.at(7)?.stress_state, 'HIGH');
  assert.not(rows.change('inst_ffffffffffffffff', (row) => row));
});

fleet.run();
