import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { textSummary } from '#loadtest/k6/text-summary';
import { verdictOf } from '#loadtest/k6/verdict';
import { type Reading, slopesOf } from '#loadtest/processes/slopes';
import { goodFigures, usualScope } from '#test/loadtest/run-figures';

const HOUR_S = 3_600;

/** Readings every 10 s. `valueAt` maps the elapsed share of the load to a value. */
function readings(valueAt: (part: number) => number | undefined, seconds = HOUR_S): Reading[] {
  return Array.from({ length: seconds / 10 + 1 }, (_, i) => {
    const value = valueAt((i * 10) / seconds);
    const values = new Map(value === undefined ? [] : [['live heap of engine1, MiB', value]]);
    return { second: i * 10, values, stepped: new Map() };
  });
}

const slopes = suite('a value under a constant load');

for (const [what, valueAt, outcome] of [
  ['is constant', () => 100, 'kept'],
  ['falls', (part: number) => 200 - 100 * part, 'kept'],
  ['oscillates', (part: number) => 100 + 20 * Math.sin(200 * part), 'kept'],
  ['falls at each garbage collection', (part: number) => 100 + 60 * ((part * 22.9) % 1), 'kept'],
  [
    'falls at each garbage collection but grows in between',
    (part: number) => 100 * ((part * 22.9) % 1) + 60 * part,
    'broken',
  ],
  ['grows by a twentieth', (part: number) => 100 + 5 * part, 'kept'],
  ['grows by a fifth', (part: number) => 100 + 20 * part, 'broken'],
  ['grows by less than the absolute minimum', (part: number) => 2 + 2 * part, 'kept'],
  ['grows only at the beginning', (part: number) => 100 + 300 * Math.min(part, 0.3), 'kept'],
] as const) {
  slopes(`is judged as ${outcome} if it ${what}`, () => {
    assert.equal(
      slopesOf(readings(valueAt)).map((slope) => slope.outcome),
      [outcome],
    );
  });
}

slopes('is judged despite missing or outlying readings', () => {
  const odd = (part: number) => {
    const nth = Math.round(part * 360);
    if (nth % 50 === 7) return undefined;
    return nth % 50 === 9 ? 10 : 100;
  };
  assert.equal(
    slopesOf(readings(odd)).map(({ outcome, perHour }) => [outcome, perHour]),
    [['kept', 0]],
  );
});

slopes('has its growth stated per hour', () => {
  const [slope] = slopesOf(readings((part) => 100 + 30 * part, 2 * HOUR_S));
  assert.ok(Math.abs((slope?.perHour ?? 0) - 15) < 0.01, `${slope?.perHour}`);
});

slopes('is judged after half an hour, even if the last reading is seconds early', () => {
  const most = readings(() => 100, 1_800).slice(0, -1);
  assert.equal(
    slopesOf(most).map(({ outcome }) => outcome),
    ['kept'],
  );
});

slopes('is judged only after 90 minutes if it changes in steps', () => {
  const stepped = (seconds: number) =>
    readings((part) => 100 + 50 * part, seconds).map(({ second, values }) => {
      return { second, values: new Map(), stepped: values };
    });
  assert.equal(slopesOf(stepped(HOUR_S)), []);
  assert.equal(
    slopesOf(stepped(1.5 * HOUR_S)).map(({ outcome }) => outcome),
    ['broken'],
  );
});

slopes('is not judged after ten minutes', () => {
  assert.equal(slopesOf(readings((part) => 100 * part, 600)), []);
  assert.equal(slopesOf([]), []);
});

for (const [what, isThere] of [
  ['for a while', (part: number) => part < 0.5 || part > 0.6],
  ['at the beginning', (part: number) => part > 0.1],
  ['after the beginning', (part: number) => part < 0.1],
] as const) {
  slopes(`is unmeasured and breaks the verdict if readings are missing ${what}`, () => {
    const scope = usualScope('soak');
    const metrics = goodFigures(scope);
    const gaps = readings((part) => (isThere(part) ? 100 : undefined));
    const verdict = verdictOf(scope, metrics, { hasOwnAccounts: true, readings: gaps });
    assert.equal(
      verdict.slopes.map(({ outcome }) => outcome),
      ['unmeasured'],
    );
    assert.is(verdict.outcome, 'broken');
    const row = /\| live heap of engine1, MiB \| - \| - \| - \| \*\*NOT MEASURED\*\* \|/;
    assert.match(textSummary({ scope, metrics, verdict }), row);
  });
}

slopes('breaks the verdict of a soak run if it grows, and appears in the summary', () => {
  const scope = usualScope('soak');
  const metrics = goodFigures(scope);
  const growing = readings((part) => 100 + 50 * part);
  const verdict = verdictOf(scope, metrics, { hasOwnAccounts: true, readings: growing });
  assert.is(verdict.outcome, 'broken');
  const text = textSummary({ scope, metrics, verdict });
  assert.match(
    text,
    /\| live heap of engine1, MiB \| 131\.7 \| <= \+13\.2 \| \+50\.0 \| \*\*BROKEN\*\* \|/,
  );
});

slopes.run();
