import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  browserName,
  counted,
  inWords,
  localTime,
  numberText,
  percentText,
  utcTime,
} from '#pages/format';

const texts = suite('what pages write');

texts('of times: to the minute or the second, and UTC beside', () => {
  const at = '2026-01-15T11:58:09.123Z';
  assert.match(localTime(at), /^1[456] Jan 2026, \d\d:\d8$/);
  assert.match(localTime(at, 'second'), /^1[456] Jan 2026, \d\d:\d8:09$/);
  assert.is(utcTime(at), '2026-01-15 11:58:09 UTC');
  assert.equal([localTime('soon'), utcTime('soon')], ['soon', 'soon']);
});

texts('of counts: with units and groups of three', () => {
  assert.equal(
    [counted(1, 'cycle'), counted(0, 'cycle'), counted(12_000, 'cycle'), numberText(1e6)],
    ['1 cycle', '0 cycles', '12,000 cycles', '1,000,000'],
  );
});

texts('of shares: all of it only where it is all', () => {
  assert.equal([0, 0.999, 1, 7, -1].map(percentText), ['0 %', '99 %', '100 %', '100 %', '0 %']);
});

texts('of names of the API: words', () => {
  assert.is(inWords('idle_90_days'), 'idle 90 days');
});

texts('of clients: a browser and its system, or what a program calls itself', () => {
  const chrome =
    'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 Chrome/141.0 Safari/537.36';
  assert.is(browserName(chrome), 'Chrome on Windows');
  assert.is(browserName(`${chrome} Edg/141.0`), 'Edge on Windows');
  assert.is(
    browserName('Mozilla/5.0 (iPhone; like Mac OS X) Version/18 Safari/604'),
    'Safari on iPhone',
  );
  assert.is(browserName('curl/8.5'), 'curl/8.5');
  assert.is(browserName('x'.repeat(200)).length, 40);
  assert.is(browserName(''), 'unknown client');
});

texts.run();
