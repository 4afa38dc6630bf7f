import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  answerProof,
  challengeOf,
  isSameProof,
  newNonce,
  nonceIn,
  requestProof,
} from '#limiter/admin/token';

const TOKEN = 't'.repeat(43);
const REQUEST = {
  nonce: 'a-nonce-of-some-connection',
  address: '127.0.0.1:8001',
  method: 'POST',
  target: '/accounts?limit=1',
  body: '{"name":"a"}',
};

const proof = suite('the proof of a request to the admin port');

proof('differs for any other request, address or token', () => {
  const right = requestProof(TOKEN, REQUEST);
  assert.ok(isSameProof(right, requestProof(TOKEN, { ...REQUEST })));
  for (const name of ['nonce', 'address', 'method', 'target', 'body'] as const) {
    const other = requestProof(TOKEN, { ...REQUEST, [name]: `${REQUEST[name]}x` });
    assert.not.ok(isSameProof(right, other), name);
  }
  const moved = { ...REQUEST, method: 'POST/', target: 'accounts?limit=1' };
  assert.not.ok(isSameProof(right, requestProof(TOKEN, moved)));
  assert.not.ok(isSameProof(right, requestProof(`${TOKEN}x`, REQUEST)));
  assert.not.ok(isSameProof(right, ''));
  assert.not.match(right, /t{8}/);
});

proof('is not valid as the proof of the answer, which covers request, status and body', () => {
  const of = requestProof(TOKEN, REQUEST);
  const right = answerProof(TOKEN, of, 200, '{}');
  for (const other of [
    of,
    answerProof(TOKEN, `${of}x`, 200, '{}'),
    answerProof(TOKEN, of, 201, '{}'),
    answerProof(TOKEN, of, 200, '{ }'),
    answerProof(`${TOKEN}x`, of, 200, '{}'),
  ]) {
    assert.not.ok(isSameProof(right, other));
  }
});

proof('depends on the nonce of a challenge, which never repeats', () => {
  const nonces = Array.from({ length: 100 }, newNonce);
  assert.is(new Set(nonces).size, 100);
  for (const nonce of nonces) assert.is(nonceIn(challengeOf(nonce)), nonce);
  for (const none of [undefined, '', 'Bearer', 'Proof nonce=""', 'Basic realm="x"']) {
    assert.is(nonceIn(none), undefined);
  }
});

proof.run();
