import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { unchanging } from '#stdlib/files';
import { SecretSeal } from '#stdlib/secret-seal';

const sealOf = (secrets: readonly string[], label = 'a label') =>
  new SecretSeal(unchanging(secrets), label);

const seals = suite('a sealed secret');

seals('is opened only for its owner, with its label and its cluster secret', () => {
  const sealed = sealOf(['one']).seal('owner', 'whsec_text');
  assert.equal(sealOf(['one']).open('owner', sealed), { text: 'whsec_text', isCurrent: true });
  assert.is(sealOf(['one']).open('another', sealed), undefined);
  assert.is(sealOf(['one'], 'another label').open('owner', sealed), undefined);
  assert.is(sealOf(['two']).open('owner', sealed), undefined);
  assert.not.match(sealed, 'whsec');
});

seals('is opened by a former cluster secret, and says so', () => {
  const sealed = sealOf(['former']).seal('owner', 'text');
  const opened = sealOf(['new', 'former']).open('owner', sealed);
  assert.equal(opened, { text: 'text', isCurrent: false });
});

seals('is not opened if a character was changed', () => {
  const seal = sealOf(['one']);
  const sealed = seal.seal('owner', 'text');
  for (let at = 0; at < sealed.length - 1; at += 1) {
    const other = sealed[at] === 'A' ? 'B' : 'A';
    const changed = sealed.slice(0, at) + other + sealed.slice(at + 1);
    assert.is(seal.open('owner', changed), undefined, changed);
  }
  assert.is(seal.open('owner', ''), undefined);
});

seals.run();
