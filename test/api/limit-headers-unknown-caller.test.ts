import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { formatApiKey } from '#accounts/api-key';
import { type Answer, newCaller, send } from '#test/support/caller';
import { requestText, sendRaw } from '#test/support/raw-http';
import { limitOf, openScene } from '#test/support/scene';

const { service, caller, close } = await openScene();
const IETF = ['ratelimit', 'ratelimit-policy'];
const FOUR = ['limit', 'remaining', 'reset', 'monthly'] as const;
const all = (answer: Answer) => FOUR.map((name) => limitOf(answer, name));
const nowS = () => Date.now() / 1_000;

/** Asserts the row of a caller whom nobody knows. */
function assertUnknown(answer: Answer): void {
  const [limit, remaining, reset = 0, monthly] = all(answer);
  assert.equal([limit, remaining, monthly], [0, 0, 0]);
  assert.ok(reset - nowS() > 58 && reset - nowS() < 62, `reset in ${reset - nowS()} s`);
  for (const name of IETF) assert.is(answer.headers.get(name), null);
}

const nobody = suite('an answer to a caller whom nobody knows');

nobody('401 has zeros and a reset in 60 s', async () => {
  for (const authorization of ['', 'Basic eA==', 'Bearer x', `Bearer ${unknownKey(0)}`]) {
    const answer = await send(service, 'GET', '/personas', {
      ...(authorization === '' ? {} : { headers: { authorization } }),
    });
    assert.is(answer.status, 401);
    assertUnknown(answer);
    assert.is(answer.headers.get('www-authenticate'), 'Bearer');
  }
});

nobody('an unknown path without a key is 401 with zeros', async () => {
  const answer = await send(service, 'GET', '/nowhere');
  assert.is(answer.status, 401);
  assertUnknown(answer);
});

const BROKEN: Record<string, readonly [bytes: string, status: number]> = {
  'no HTTP': ['nonsense\r\n\r\n', 400],
  'a URL that cannot be decoded': [requestText('GET', '/v1/instances/%zz', auth()), 400],
  'two lengths': [
    requestText('POST', '/v1/instances', ['Content-Length: 1', 'Content-Length: 2']),
    400,
  ],
  'too many header bytes': [
    requestText('GET', '/v1/personas', [`X-Long: ${'x'.repeat(20_000)}`]),
    431,
  ],
  'a path segment of 300 characters': [
    requestText('GET', `/v1/personas/${'x'.repeat(300)}`, auth()),
    414,
  ],
};

for (const [what, [bytes, status]] of Object.entries(BROKEN)) {
  nobody(`${what} is answered ${status} with zeros`, async () => {
    const answer = await sendRaw(service, bytes);
    assert.is(answer.status, status, answer.text);
    assert.is(answer.body.error, 'invalid_request');
    assertUnknown(answer);
  });
}

nobody('outside /v1 there are none of these headers', async () => {
  const response = await fetch(`${service.origin}/elsewhere`);
  assert.is(response.status, 404);
  assert.is(await response.text(), 'Not Found\n');
  const names = [...response.headers.keys()].filter((name) => name.includes('ratelimit'));
  assert.equal(names, []);
  assert.is(response.headers.get('x-monthly-remaining'), null);
});

const guessing = suite('an address that has sent 30 unknown keys in a minute');

/** A key of the right form and checksum that nobody has. */
function unknownKey(index: number): string {
  return formatApiKey('000000000000', String(index).padStart(32, '0'));
}

function auth(): string[] {
  return [`Authorization: Bearer ${caller.key}`];
}

guessing('is answered 401 also for a key that exists, unless it was seen lately', async () => {
  const newcomer = await newCaller(service);
  const known = await newCaller(service);
  assert.is((await known.send('GET', '/personas')).status, 200);
  for (let index = 0; index < 30; index += 1) {
    const headers = { authorization: `Bearer ${unknownKey(index)}` };
    assert.is((await send(service, 'GET', '/personas', { headers })).status, 401);
  }
  const barred = await newcomer.send('GET', '/personas');
  assert.is(barred.status, 401);
  assertUnknown(barred);
  assert.is((await known.send('GET', '/personas')).status, 200, 'never per account');
});

guessing.after(close);

for (const each of [nobody, guessing]) each.run();
