import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { formsOf } from '#test/support/secret-forms';

const SECRET = 'a secret? of >some length~';

const forms = suite('the encodings of a secret');

forms('match the secret in every encoding, anywhere in a longer text', () => {
  for (const before of ['', 'x', 'xy', 'xyz', '{"password":"']) {
    const text = Buffer.from(`${before}${SECRET}", "more": 1}`);
    for (const encoding of ['utf8', 'hex', 'base64', 'base64url'] as const) {
      const written = text.toString(encoding);
      const isFound = formsOf(SECRET).some((form) => written.includes(form.toString()));
      assert.ok(isFound, `${encoding} behind ${before.length}`);
    }
  }
  assert.ok(formsOf(SECRET).some((form) => encodeURIComponent(SECRET).includes(form.toString())));
});

forms('do not match another text', () => {
  const text = 'a secret! of <some length~'.repeat(20);
  for (const encoding of ['utf8', 'hex', 'base64', 'base64url'] as const) {
    const written = Buffer.from(text).toString(encoding);
    assert.not.ok(formsOf(SECRET).some((form) => written.includes(form.toString())));
  }
});

forms.run();
