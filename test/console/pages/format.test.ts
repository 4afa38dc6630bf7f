import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  browserName,
  counted,
  inWords,
  levelText,
  localTime,
  numberText,
  percentText,
  utcTime,
  waitText,
} from '#pages/parts/format';

const texts = suite('the formats of pages');

texts('show times to the minute or the second, and in UTC', () => {
  const at = '2026-01-15T11:58:09.123Z';
  assert.match(localTime(at), /^1[456] Jan 2026, \d\d:\d8$/);
  assert.match(localTime(at, 'second'), /^1[456] Jan 2026, \d\d:\d8:09$/);
  assert.is(utcTime(at), '2026-01-15 11:58:09 UTC');
  assert.equal([localTime('soon'), utcTime('soon')], ['soon', 'soon']);
});

texts('show counts with units and groups of three', () => {
  assert.equal(
    [counted(1, 'cycle'), counted(0, 'cycle'), counted(12_000, 'cycle'), numberText(1e6)],
    ['1 cycle', '0 cycles', '12,000 cycles', '1,000,000'],
  );
});

texts('show values of the model in percent to a tenth, without a negative zero', () => {
  const values = [0.85, 0.8494, 1, 0, -0.0321, -0.0001, 0.29];
  const written = ['85 %', '84.9 %', '100 %', '0 %', '-3.2 %', '0 %', '29 %'];
  assert.equal(values.map(levelText), written);
});

texts('show waiting times rounded up: seconds below 2 minutes, minutes below 2 hours', () => {
  const seconds = [1, 119, 120, 7_199, 7_201, 172_799, 172_801];
  const written = ['1 second', '119 seconds', '2 minutes', '120 minutes', '3 hours', '48 hours'];
  assert.equal(seconds.map(waitText), [...written, '3 days']);
});

texts('show a share of 100 % only when it is complete', () => {
  assert.equal([0, 0.999, 1, 7, -1].map(percentText), ['0 %', '99 %', '100 %', '100 %', '0 %']);
});

texts('show names of the API as words', () => {
  assert.is(inWords('idle_90_days'), 'idle 90 days');
});

texts('show clients as browser and system, or as the name of the program', () => {
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
