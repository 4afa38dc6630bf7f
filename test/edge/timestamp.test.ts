import * as fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { parseTimestamp } from '#edge/endpoints/observations';

const timestamps = suite('a timestamp');

timestamps('from toISOString is read back unchanged', () => {
  void fc.assert(
    fc.property(fc.integer({ min: 0, max: Date.UTC(9_999, 11, 31) }), (timeMs) => {
      assert.is(parseTimestamp(new Date(timeMs).toISOString()), timeMs);
    }),
  );
});

timestamps('is exact to the millisecond, the third fraction digit', () => {
  for (let ms = 0; ms < 1_000; ms += 1) {
    const text = `2026-01-15T12:00:00.${String(ms).padStart(3, '0')}9+00:00`;
    assert.is(parseTimestamp(text), Date.UTC(2026, 0, 15, 12, 0, 0, ms));
  }
});

timestamps(
  'may have an offset, lower case letters and 1 to 9 fraction digits, cut to three',
  () => {
    const noonMs = Date.UTC(2026, 0, 15, 12);
    const same = ['2026-01-15T12:00:00Z', '2026-01-15t12:00:00z', '2026-01-15T13:30:00+01:30'];
    for (const text of [...same, '2026-01-14T23:00:00-13:00']) {
      assert.is(parseTimestamp(text), noonMs, text);
    }
    assert.is(parseTimestamp('2026-01-15T12:00:00.1Z'), noonMs + 100);
    assert.is(parseTimestamp('2026-01-15T12:00:00.123999999Z'), noonMs + 123);
    assert.is(parseTimestamp('2026-01-15T12:00:00.9999+00:00'), noonMs + 999);
    assert.is(parseTimestamp('2024-02-29T00:00:00Z'), Date.UTC(2024, 1, 29));
  },
);

for (const text of [
  '2026-01-15',
  '2026-01-15T12:00:00',
  '2026-01-15 12:00:00Z',
  '2026-02-30T12:00:00Z',
  '2025-02-29T12:00:00Z',
  '2026-13-01T12:00:00Z',
  '2026-00-01T12:00:00Z',
  '2026-01-00T12:00:00Z',
  '2026-01-15T24:00:00Z',
  '2026-01-15T12:60:00Z',
  '2016-12-31T23:59:60Z',
  '2026-01-15T12:00:00+24:00',
  '2026-01-15T12:00:00+01:60',
  '2026-01-15T12:00:00.Z',
  '2026-01-15T12:00:00.1234567890Z',
  '+002026-01-15T12:00:00Z',
  '0999-01-15T12:00:00Z',
  '2026-01-15T12:00:00Z\n',
  '２０２６-01-15T12:00:00Z',
  '1768478400000',
  '',
]) {
  timestamps(`of another form is invalid: ${text}`, () => {
    assert.is(parseTimestamp(text), undefined);
  });
}

timestamps.run();
