import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { busKeyOf, type Envelope, openMessage, sealMessage } from '#bus/envelope';
import { newSenderKey } from '#bus/sender-key';

const SECRET = 'the secret of this test';
const KEY = busKeyOf(SECRET);
const SUBJECT = 'identity-engine.engine.heartbeat';

const SENDER = newSenderKey();

const ENVELOPE: Envelope = {
  incarnation: SENDER.name,
  cluster: 'c',
  sequence: 7,
  sentAtMs: 1_800_000_000_000,
};

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const sealed = (content: Uint8Array, envelope = ENVELOPE, sender = SENDER) =>
  sealMessage({ macKey: KEY, sender }, SUBJECT, envelope, content);
const kindOf = (message: Uint8Array, subject = SUBJECT, keys = [KEY]): string =>
  openMessage(keys, subject, message).kind;

const signed = suite('a message in its signed envelope');

signed('is read as it was written, whatever its content', () => {
  fc.assert(
    fc.property(
      fc.uint8Array({ maxLength: 300 }),
      fc.nat({ max: Number.MAX_SAFE_INTEGER }),
      fc.nat({ max: Number.MAX_SAFE_INTEGER }),
      (content, sequence, sentAtMs) => {
        const envelope = { ...ENVELOPE, sequence, sentAtMs };
        const opened = openMessage([KEY], SUBJECT, sealed(content, envelope));
        assert.is(opened.kind, 'signed');
        if (opened.kind !== 'signed') return;
        assert.equal(opened.envelope, envelope);
        assert.equal([...opened.content], [...content]);
      },
    ),
  );
});

signed(
  'is accepted by a process that has its secret among several, and by no other process',
  () => {
    const message = sealed(bytes('x'));
    const other = busKeyOf('another secret of a test');
    assert.is(kindOf(message, SUBJECT, [other, KEY]), 'signed');
    assert.is(kindOf(message, SUBJECT, [other]), 'signature');
  },
);

signed('is refused with any byte changed, removed or added', () => {
  const message = sealed(bytes('{"epoch":7}'));
  for (let at = 0; at < message.length; at += 1) {
    const changed = Uint8Array.from(message);
    changed[at] = (changed[at] ?? 0) ^ 1;
    assert.is.not(kindOf(changed), 'signed', `byte ${at}`);
    const without = Buffer.concat([message.subarray(0, at), message.subarray(at + 1)]);
    assert.is.not(kindOf(without), 'signed', `without byte ${at}`);
  }
  assert.is(kindOf(Buffer.concat([message, bytes(' ')])), 'signature');
});

signed('is refused on another subject', () => {
  assert.is(kindOf(sealed(bytes('x')), 'identity-engine.limiter.heartbeat'), 'signature');
});

const forged = suite('a message of a process that has the secret');

forged('cannot be signed in the name of another process', () => {
  const insider = newSenderKey();
  const largest = { ...ENVELOPE, sequence: Number.MAX_SAFE_INTEGER };
  const lie = sealed(bytes('x'), largest, { ...insider, name: SENDER.name });
  assert.is(kindOf(lie), 'forged');
  assert.is(kindOf(sealed(bytes('x'), largest, insider)), 'signed');
});

forged('cannot reuse the signature of another process for a different message', () => {
  const heard = Buffer.from(sealed(bytes('x'))).toString();
  const signature = heard.split(' ')[5] ?? '';
  assert.is(signature.length, 86);
  const borrowed = { name: SENDER.name, sign: () => Buffer.from(signature, 'base64url') };
  assert.is(kindOf(sealed(bytes('x'), ENVELOPE, borrowed)), 'signed', 'the same message');
  assert.is(kindOf(sealed(bytes('y'), ENVELOPE, borrowed)), 'forged');
  const later = { ...ENVELOPE, sequence: 8 };
  assert.is(kindOf(sealed(bytes('x'), later, borrowed)), 'forged');
});

forged('is refused if the name of its sender is not a public key', () => {
  const keyless = { ...SENDER, name: 'f'.repeat(64) };
  assert.is(kindOf(sealed(bytes('x'), ENVELOPE, keyless)), 'forged');
});

const plain = suite('a message without an envelope');

plain('is refused, whatever its content', () => {
  const large = sealed(new Uint8Array(70 * 1_024));
  for (const message of [bytes(''), bytes('\n'), bytes('{"epoch":7}'), bytes('signed2 '), large]) {
    assert.is(kindOf(message), 'unsigned');
  }
  fc.assert(fc.property(fc.uint8Array({ maxLength: 600 }), (any) => kindOf(any) === 'unsigned'));
});

const key = suite('the signing key of the bus');

key('differs from the secret, and differs for every secret', () => {
  assert.is(KEY.length, 32);
  assert.not(KEY.equals(Buffer.from(SECRET)));
  assert.not(KEY.equals(busKeyOf(`${SECRET}.`)));
});

for (const each of [signed, forged, plain, key]) each.run();
