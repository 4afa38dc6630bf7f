import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { isKnownToCaller, isPreferred, readIfMatch } from '#edge/http';

const TAG = '"snap_0123456789abcdef"';

const guards = suite('If-Match');

for (const header of ['*', TAG, `W/${TAG}`, `${TAG}, "other"`, `${TAG}\t,W/""`, '""']) {
  guards(`is returned as sent: ${header}`, () => assert.is(readIfMatch(header), header));
}

for (const header of [
  '',
  'snap_0123456789abcdef',
  '"open',
  `${TAG},`,
  '**',
  '"two words"',
  `"${'a'.repeat(1_024)}"`,
]) {
  guards(`of another form is refused: ${header.slice(0, 24)}`, () => {
    assert.throws(() => readIfMatch(header), /If-Match/);
  });
}

guards('may be missing', () => assert.is(readIfMatch(undefined), undefined));

const known = suite('If-None-Match');

known('matches the tag alone, in a list, as a weak tag and as a star', () => {
  for (const header of [TAG, `"a", ${TAG}`, `W/${TAG}`, '*', ` ${TAG} `]) {
    assert.ok(isKnownToCaller(header, TAG), header);
  }
});

known('matches nothing else, and no answer without a tag', () => {
  for (const header of [undefined, '', '"other"', TAG.slice(1, -1), `${TAG}x`]) {
    assert.not.ok(isKnownToCaller(header, TAG), header);
  }
  assert.not.ok(isKnownToCaller('*', ''));
});

const preferences = suite('a preference in the Prefer header');

preferences('is found in a list, in any case, with parameters and in quotes', () => {
  for (const header of [
    'handling=strict',
    'respond-async, handling=strict',
    'Handling=Strict',
    'handling="strict"; foo=bar',
    ['wait=1', 'handling = strict'],
  ]) {
    assert.ok(isPreferred(header, 'handling=strict'), String(header));
  }
});

preferences('is not found in similar text', () => {
  for (const header of [
    undefined,
    '',
    'handling=lenient',
    'xhandling=strict',
    'handling=strictly',
  ]) {
    assert.not.ok(isPreferred(header, 'handling=strict'), header);
  }
});

for (const each of [guards, known, preferences]) each.run();
