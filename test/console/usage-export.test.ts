import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { ApiKeyRecord } from '#accounts/account';
import { csvOf, usageCsv, usageRows } from '#console/usage/export';

const csv = suite('a table as CSV');

csv('has quotes where they are required, and line ends as in RFC 4180', () => {
  const table = [
    ['plain', 'with, comma'],
    ['a "word"', 'two\nlines'],
    [12, ''],
  ];
  assert.is(csvOf(table), 'plain,"with, comma"\r\n"a ""word""","two\nlines"\r\n12,\r\n');
});

csv('has no cell that a spreadsheet treats as a formula', () => {
  for (const text of ['=1+1', '+1', '-1', '@SUM(A1)', '\t=1', '\r=1', '=HYPERLINK("http://x")']) {
    assert.match(csvOf([[text]]), /^"?'/, JSON.stringify(text));
  }
  assert.is(csvOf([['a=1', -1]]), 'a=1,-1\r\n');
});

csv('is read back unchanged, except for the protecting apostrophes', () => {
  const property = fc.property(fc.array(fc.array(fc.string(), { minLength: 1 })), (rows) => {
    const expected = rows.map((row) =>
      row.map((text) => (/^[=+\-@\t\r]/.test(text) ? `'${text}` : text)),
    );
    assert.equal(readCsv(csvOf(rows)), expected);
  });
  fc.assert(property, { numRuns: 500 });
});

const rows = suite('exported usage');

const key = (id: string, prefix: string, name?: string): ApiKeyRecord => ({
  ...{ id, digest: `${prefix}${'x'.repeat(35)}`, scope: 'full', createdAtMs: 0 },
  ...(name !== undefined && { name }),
});
const JANUARY = {
  endsAtMs: Date.UTC(2026, 1, 1),
  cyclesByDay: [10, 0, 7],
  keys: [
    { prefix: 'aaaaaaaa', cyclesByDay: [4, 0, 7] },
    { prefix: 'bbbbbbbb', cyclesByDay: [5] },
    { prefix: 'gonegone', cyclesByDay: [1] },
  ],
};
const DECEMBER = { endsAtMs: Date.UTC(2026, 0, 1), cyclesByDay: [0, 2], keys: [] };
const KEYS = [key('key_a', 'aaaaaaaa', '=cmd|" /C calc"!A0'), key('key_b', 'bbbbbbbb')];

rows('has a row for each day and key with cycles, oldest first, and rows for other cycles', () => {
  const found = usageRows([JANUARY, DECEMBER], KEYS);
  assert.equal(
    found.map(({ date, key_id, cycles }) => [date, key_id, cycles]),
    [
      ['2025-12-02', 'other', 2],
      ['2026-01-01', 'key_a', 4],
      ['2026-01-01', 'key_b', 5],
      ['2026-01-01', 'other', 1],
      ['2026-01-03', 'key_a', 7],
    ],
  );
});

rows('declares UTF-8, and has a header row even without data', () => {
  assert.is(usageCsv([]), '\uFEFFdate,key_id,key_name,cycles\r\n');
  const lines = usageCsv(usageRows([JANUARY], KEYS)).split('\r\n');
  assert.is(lines[1], `2026-01-01,key_a,"'=cmd|"" /C calc""!A0",4`);
  assert.is(lines[2], '2026-01-01,key_b,,5');
});

for (const part of [csv, rows]) part.run();

/** Parses CSV as RFC 4180 specifies. */
function readCsv(text: string): string[][] {
  const table: string[][] = [];
  let row: string[] = [];
  const cell = /(?:"((?:[^"]|"")*)"|([^,\r\n"]*))(,|\r\n)/gy;
  for (let match = cell.exec(text); match !== null; match = cell.exec(text)) {
    row.push((match[1] ?? match[2] ?? '').replaceAll('""', '"'));
    if (match[3] === ',') continue;
    table.push(row);
    row = [];
  }
  return table;
}
