import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { formatApiKey } from '#accounts/api-key';
import { type Answer, type Caller, send } from '#test/support/calls/caller';
import { dial, type RawConnection, requestText, sendRaw } from '#test/support/calls/raw-http';
import { limitOf, openScene } from '#test/support/calls/scene';
import { metricValues } from '#test/support/metric-values';

const { service, caller, newCaller, close } = await openScene();
const IETF = ['ratelimit', 'ratelimit-policy'];
const FOUR = ['limit', 'remaining', 'reset', 'monthly'] as const;
const all = (answer: Answer) => FOUR.map((name) => limitOf(answer, name));
const nowS = () => Date.now() / 1_000;

/** Asserts the limit headers for an unknown caller. */
function assertUnknown(answer: Answer): void {
  const [limit, remaining, reset = 0, monthly] = all(answer);
  assert.equal([limit, remaining, monthly], [0, 0, 0]);
  assert.ok(reset - nowS() > 58 && reset - nowS() < 62, `reset in ${reset - nowS()} s`);
  for (const name of IETF) assert.is(answer.headers.get(name), null);
}

const unknown = suite('an answer to an unknown caller');

unknown('has status 401, zero limits and a reset in 60 s', async () => {
  for (const authorization of ['', 'Basic eA==', 'Bearer x', `Bearer ${unknownKey(0)}`]) {
    const answer = await send(service, 'GET', '/personas', {
      ...(authorization === '' ? {} : { headers: { authorization } }),
    });
    assert.is(answer.status, 401);
    assertUnknown(answer);
    assert.is(answer.headers.get('www-authenticate'), 'Bearer');
  }
});

unknown('on an unknown path has status 401 and zero limits', async () => {
  const answer = await send(service, 'GET', '/nowhere');
  assert.is(answer.status, 401);
  assertUnknown(answer);
});

const BROKEN: Record<string, readonly [bytes: string, status: number]> = {
  'bytes that are not HTTP': ['nonsense\r\n\r\n', 400],
  'a URL that cannot be decoded': [requestText('GET', '/v1/instances/%zz', auth()), 400],
  'two Content-Length headers': [
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
  unknown(`that sends ${what} has status ${status} and zero limits`, async () => {
    const answer = await sendRaw(service, bytes);
    assert.is(answer.status, status, answer.text);
    assert.is(answer.body.error, 'invalid_request');
    assertUnknown(answer);
  });
}

unknown('outside /v1 has no limit headers', async () => {
  const response = await fetch(`${service.origin}/elsewhere`);
  assert.is(response.status, 404);
  assert.is(await response.text(), 'Not Found\n');
  const names = [...response.headers.keys()].filter((name) => name.includes('ratelimit'));
  assert.equal(names, []);
  assert.is(response.headers.get('x-monthly-remaining'), null);
});

/** Maximum number of attempts to use up the key look-ups of one second. */
const ROUNDS_MAX = 20;

const guessing = suite('an address that has sent 30 unknown keys in a minute');

/** A key with the right form and checksum that was never created. */
function unknownKey(index: number): string {
  return formatApiKey('000000000000', String(index).padStart(32, '0'));
}

function auth(): string[] {
  return [`Authorization: Bearer ${caller.key}`];
}

guessing(
  'gets few keys looked up: other keys are refused with 503, except keys used recently',
  async () => {
    const newcomer = await newCaller();
    const known = await newCaller();
    assert.is((await known.send('GET', '/personas')).status, 200);
    for (let index = 0; index < 30; index += 1) {
      const headers = { authorization: `Bearer ${unknownKey(index)}` };
      assert.is((await send(service, 'GET', '/personas', { headers })).status, 401);
    }
    const barred = await flooded((answers, tookS) => {
      for (const answer of answers) assertUnknown(answer);
      const lookedUp = answers.filter(({ status }) => status === 401).length;
      assert.ok(lookedUp <= 5 * (Math.floor(tookS) + 1), `${lookedUp} looked up in ${tookS} s`);
      return answers.find(({ status }) => status === 503);
    });
    assert.ok(barred);
    assert.is(barred.body.error, 'service_unavailable');
    assert.is(barred.body.details.reason, 'too_many_refused_keys');
    assert.is(barred.headers.get('retry-after'), '1');
    assert.is((await patiently(newcomer)).status, 200);
    assert.is(
      (await known.send('GET', '/personas')).status,
      200,
      'refusals are never counted per account',
    );
  },
);

/** Repeats the request until the key is looked up: every second allows some look-ups. */
async function patiently(newcomer: Caller): Promise<Answer> {
  for (;;) {
    const answer = await newcomer.send('GET', '/personas');
    if (answer.status !== 503) return answer;
    assert.is(answer.body.details.reason, 'too_many_refused_keys');
  }
}

guessing('is counted in a metric and named in one log line', async () => {
  const count = (await metricValues(service)).get('edge_unknown_keys_not_looked_up_total') ?? 0;
  assert.ok(count > 0);
  const lines = service.log().split('\n');
  assert.is(
    lines.filter((line) => /"address":"127.0.0.1".*too many refused keys:/.test(line)).length,
    1,
  );
  assert.is(lines.filter((line) => line.includes('too_many_refused_keys')).length, 0);
});

guessing('is refused before it sends the body', async () => {
  const answer = await flooded(async () => {
    using connection = await dial(service);
    connection.write(
      requestText('POST', '/v1/instances', [
        `Authorization: Bearer ${unknownKey(0)}`,
        'Content-Type: application/json',
        'Content-Length: 10',
      ]),
    );
    return await Promise.race([connection.next(), bodyAwaited(connection)]);
  });
  assert.is(answer?.status, 503);
  assert.is(answer?.body.details.reason, 'too_many_refused_keys');
});

/**
 * Sends more unknown keys in parallel than the service looks up in one second. Repeats the flood
 * until `look` finds the expected answers: if a second ends during a flood, the service looks up
 * more keys.
 */
async function flooded(
  look: (answers: Answer[], tookS: number) => Promise<Answer | undefined> | Answer | undefined,
): Promise<Answer | undefined> {
  for (let round = 1; round <= ROUNDS_MAX; round += 1) {
    const startedMs = performance.now();
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) => {
        const headers = { authorization: `Bearer ${unknownKey(100 * round + index)}` };
        return send(service, 'GET', '/personas', { headers });
      }),
    );
    const seen = await look(answers, (performance.now() - startedMs) / 1_000);
    if (seen !== undefined) return seen;
  }
  return undefined;
}

/** Fulfils when the service waits for the body. At that time, a look-up of the key is allowed. */
async function bodyAwaited(connection: RawConnection): Promise<undefined> {
  while (!connection.isEnded) {
    if (((await metricValues(service)).get('edge_unfinished_bodies') ?? 0) > 0) return;
  }
}

guessing.after(close);

for (const each of [unknown, guessing]) each.run();
