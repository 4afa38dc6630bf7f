import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { digestOf, formatApiKey } from '#accounts/api-key';
import { readCaller } from '#edge/http';

const ACCOUNT = 'Account12345';
const KEY = formatApiKey(ACCOUNT, 'S'.repeat(32));

/** A request with these Authorization headers. Like Node, parses only the first header. */
function requestWith(...values: string[]): IncomingMessage {
  const request = new IncomingMessage(new Socket());
  const [first] = values;
  if (first !== undefined) request.headers.authorization = first;
  request.rawHeaders = ['Host', 'x', ...values.flatMap((value) => ['AUTHORIZATION', value])];
  return request;
}

const credentials = suite('the Authorization header');

credentials('yields the account and the key’s digest, but not the key', () => {
  for (const scheme of ['Bearer', 'bearer', 'BEARER']) {
    const caller = readCaller(requestWith(`${scheme} ${KEY}`));
    assert.equal(caller, { accountId: ACCOUNT, credential: digestOf(KEY) });
  }
});

for (const value of ['', 'Bearer', 'Bearer ', `Bearer  ${KEY}`, `Bearer\t${KEY}`, `Basic ${KEY}`]) {
  credentials(`of another form is refused: ${value.slice(0, 10)}`, () => {
    assert.throws(
      () => readCaller(requestWith(value)),
      (error: { code?: string }) => error.code === 'unauthorized',
    );
  });
}

credentials('that is sent twice is refused, although the first is valid', () => {
  assert.throws(() => readCaller(requestWith(`Bearer ${KEY}`, 'Basic x')), /one Authorization/);
});

credentials('that is missing is refused with an example', () => {
  assert.throws(() => readCaller(requestWith()), /Authorization: Bearer/);
});

credentials('with a typing error is refused without a look-up', () => {
  for (let i = 0; i < KEY.length; i += 1) {
    const other = KEY[i] === 'x' ? 'y' : 'x';
    const wrong = KEY.slice(0, i) + other + KEY.slice(i + 1);
    assert.throws(() => readCaller(requestWith(`Bearer ${wrong}`)), /malformed/);
  }
});

credentials.run();
