import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { requestIdFrom } from '#edge/http';

const ids = suite('a request id');

ids('from the caller is kept if it is well-formed', () => {
  for (const id of ['abcdefgh', 'A.b-c_9.', 'x'.repeat(64)]) assert.is(requestIdFrom(id), id);
});

ids('of another form is replaced', () => {
  for (const id of [
    '',
    'short',
    'x'.repeat(65),
    'a b c d e',
    'line\nbreak',
    'naïve-id',
    undefined,
  ]) {
    assert.match(requestIdFrom(id), /^req_[0-9a-f]{32}$/);
  }
});

ids('is never generated twice', () => {
  const made = Array.from({ length: 5_000 }, () => requestIdFrom(undefined));
  assert.is(new Set(made).size, made.length);
});

ids.run();
