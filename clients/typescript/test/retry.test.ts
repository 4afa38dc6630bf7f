import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { fittedMs, waitMs } from '../src/calls/retry.ts';
import {
  type AttemptEvent,
  type ClientOptions,
  ConnectionError,
  DeadlineError,
  IdentityEngineError,
  InternalServerError,
  InvalidRequestError,
  MalformedAnswerError,
  NotFoundError,
  QuotaExceededError,
  RateLimitedError,
  ServiceUnavailableError,
} from '../src/identity-engine.ts';
import { clientOf, KEY, rejection } from './support/clients.ts';
import {
  closedAddress,
  cut,
  cutInBody,
  data,
  FakeServer,
  proxyPage,
  type Reaction,
  refusal,
  silence,
} from './support/fake-server.ts';

const OBSERVATION = { mode_target: 'ORDER', signal_strength: 0.5 } as const;
const DONE = data({ contract: {} });

const repeated = suite('a call');

const PASSING: readonly (readonly [string, Reaction])[] = [
  ['a connection that is cut', cut],
  ['an answer that is cut', cutInBody],
  ['408', refusal(408, 'invalid_request', 'request_timeout')],
  ['429 rate_limited', refusal(429, 'rate_limited')],
  ['500', refusal(500, 'internal')],
  ['503 overloaded', refusal(503, 'service_unavailable', 'overloaded')],
  ['503 outcome_unknown', refusal(503, 'service_unavailable', 'outcome_unknown')],
  ['502 of a proxy', proxyPage(502)],
  ['503 of a proxy', proxyPage(503)],
  ['504 of a proxy', proxyPage(504)],
];

for (const [what, failure] of PASSING) {
  repeated(`is retried after ${what}, with the same key and body`, async () => {
    await using server = await FakeServer.start(failure, DONE);
    const result = await clientOf(server).instance('inst_1').process(OBSERVATION);
    assert.is(result.attempts, 2);
    const [first, second] = server.received;
    assert.match(`${first?.headers['idempotency-key']}`, /^[0-9a-f-]{36}$/);
    assert.is(second?.headers['idempotency-key'], first?.headers['idempotency-key']);
    assert.equal(second?.body, OBSERVATION);
  });
}

repeated('is retried after the timeout of an attempt', async () => {
  await using server = await FakeServer.start(silence, DONE);
  const client = clientOf(server, { attemptTimeoutMs: 50 });
  assert.is((await client.account.get()).attempts, 2);
});

repeated('is retried up to the maximum number of attempts', async () => {
  await using server = await FakeServer.start(refusal(500, 'internal'));
  const client = clientOf(server, { attemptsMax: 3 });
  await rejection(client.account.get(), InternalServerError);
  assert.is(server.received.length, 3);
});

const final = suite('a call with a permanent failure');

const FINAL: readonly (readonly [string, Reaction])[] = [
  ['400', refusal(400, 'invalid_request', 'malformed_json')],
  ['401', refusal(401, 'unauthorized')],
  ['403', refusal(403, 'forbidden', 'read_only_key')],
  ['404', refusal(404, 'not_found')],
  ['409', refusal(409, 'conflict', 'version_mismatch')],
  ['413', refusal(413, 'invalid_request', 'body_too_large')],
  ['422', refusal(422, 'invalid_request', 'out_of_range')],
  ['429 throttled', refusal(429, 'throttled', 'min_cycle_interval')],
  ['429 quota_exceeded', refusal(429, 'quota_exceeded')],
  ['a page with 200', proxyPage(200)],
];

for (const [what, failure] of FINAL) {
  final(`is not retried: ${what}`, async () => {
    await using server = await FakeServer.start(failure, DONE);
    const client = clientOf(server);
    await rejection(client.instance('inst_1').process(OBSERVATION), Error);
    assert.is(server.received.length, 1);
  });
}

const careful = suite('a change without a key');

const UNCLEAR: readonly (readonly [string, Reaction])[] = [
  ['a connection that is cut', cut],
  ['500', refusal(500, 'internal')],
  ['502 of a proxy', proxyPage(502)],
  ['503 deadline_exceeded', refusal(503, 'service_unavailable', 'deadline_exceeded')],
  ['503 outcome_unknown', refusal(503, 'service_unavailable', 'outcome_unknown')],
  ['503 engine_unavailable', refusal(503, 'service_unavailable', 'engine_unavailable')],
];

for (const [what, failure] of UNCLEAR) {
  careful(`is not retried after ${what}, and reports an unknown outcome`, async () => {
    await using server = await FakeServer.start(failure, DONE);
    const update = clientOf(server).instances.update('inst_1', { name: 'Ada' });
    const error = (await rejection(update, Error)) as ConnectionError;
    assert.is(error.mayHaveHappened, true);
    assert.is(server.received.length, 1);
  });

  careful(`that deletes is retried after ${what}, and succeeds with 404`, async () => {
    await using server = await FakeServer.start(failure, refusal(404, 'not_found'));
    const result = await clientOf(server).instances.delete('inst_1');
    assert.equal(result.data, { id: 'inst_1', deleted: true });
    assert.is(result.attempts, 2);
  });
}

for (const [what, failure] of [
  ['429 rate_limited', refusal(429, 'rate_limited')],
  ['503 overloaded', refusal(503, 'service_unavailable', 'overloaded')],
  ['503 shutting_down', refusal(503, 'service_unavailable', 'shutting_down')],
] as const) {
  careful(`is retried after ${what}`, async () => {
    await using server = await FakeServer.start(failure, data({ id: 'inst_1' }));
    const result = await clientOf(server).instances.update('inst_1', { name: 'Ada' });
    assert.is(result.attempts, 2);
  });
}

careful('is not retried after 408, although nothing changed', async () => {
  await using server = await FakeServer.start(refusal(408, 'invalid_request', 'request_timeout'));
  const update = clientOf(server).instances.update('inst_1', { name: 'Ada' });
  assert.is((await rejection(update, InvalidRequestError)).mayHaveHappened, false);
  assert.is(server.received.length, 1);
});

careful('is retried if no connection was established', async () => {
  let calls = 0;
  const closed = await closedAddress();
  await using server = await FakeServer.start(data({ id: 'inst_1' }));
  const fetchOnce = (url: string, init: RequestInit) => {
    calls += 1;
    return fetch(calls === 1 ? closed : url, init);
  };
  const client = clientOf(server, { fetch: fetchOnce });
  assert.is((await client.instances.update('inst_1', { name: 'Ada' })).attempts, 2);
});

careful('that deletes fails if the first answer is 404', async () => {
  await using server = await FakeServer.start(refusal(404, 'not_found'));
  const error = await rejection(clientOf(server).instances.delete('inst_1'), Error);
  assert.is(error.constructor.name, 'NotFoundError');
});

const waiting = suite('the delay before a retry');

waiting('has full jitter that doubles up to 5 s, in addition to Retry-After', () => {
  const longest = (attempts: number) => waitMs(attempts, undefined, () => 1);
  assert.equal([1, 2, 3, 6, 7, 60].map(longest), [100, 200, 400, 3_200, 5_000, 5_000]);
  assert.is(
    waitMs(6, undefined, () => 0),
    0,
  );
  assert.is(
    waitMs(1, 2_000, () => 0),
    2_000,
  );
});

waiting(
  'is at most half of the remaining time, so that attempts continue until the deadline',
  () => {
    const fitted = (leftMs: number, waitedMs: number, retryAfterMs?: number) =>
      fittedMs(waitedMs, retryAfterMs, { leftMs: () => leftMs });
    assert.is(fitted(30_000, 5_000), 5_000);
    assert.is(fitted(4_000, 5_000), 2_000);
    assert.is(fitted(4_000, 8_000, 3_000), 3_000);
    assert.is(fitted(4_000, 8_000, 4_000), undefined);
    assert.is(fitted(99, 1), undefined);
  },
);

waiting('is not awaited if it would exceed the deadline', async () => {
  const reaction = refusal(429, 'rate_limited', undefined, { 'retry-after': '60' });
  await using server = await FakeServer.start(reaction);
  const startedMs = performance.now();
  const error = await rejection(clientOf(server).account.get(), RateLimitedError);
  assert.is(error.retryAfterS, 60);
  assert.ok(performance.now() - startedMs < 5_000);
  assert.is(server.received.length, 1);
});

waiting('rejects with the abort reason of the signal', async () => {
  const reaction = refusal(503, 'service_unavailable', 'overloaded', { 'retry-after': '20' });
  await using server = await FakeServer.start(reaction);
  const controller = new AbortController();
  const onAttempt = () => controller.abort(new Error('enough'));
  const client = clientOf(server, { onAttempt });
  const error = await rejection(client.account.get({ signal: controller.signal }), Error);
  assert.is(error.message, 'enough');
});

const deadline = suite('the deadline of a call');

deadline('ends an attempt, with the previous error as cause', async () => {
  await using server = await FakeServer.start(
    refusal(503, 'service_unavailable', 'overloaded'),
    silence,
  );
  const client = clientOf(server, { timeoutMs: 400 });
  const error = await rejection(client.instance('inst_1').process(OBSERVATION), DeadlineError);
  assert.instance(error.cause, ServiceUnavailableError);
  assert.is(error.mayHaveHappened, true);
});

/** Runs `work` with a fixed jitter. `share`: jitter as a share of the maximum, in [0, 1). */
async function withJitter<T>(share: number, work: () => Promise<T>): Promise<T> {
  const { random } = Math;
  Math.random = () => share;
  try {
    return await work();
  } finally {
    Math.random = random;
  }
}

/** A client whose calls are refused: the first `refusals` with 503, later calls with 404. */
function refusedClient(options: ClientOptions = {}, refusals = Number.POSITIVE_INFINITY) {
  const sent: string[] = [];
  const body = { error: 'service_unavailable', message: 'busy', details: { reason: 'overloaded' } };
  const fetch = async (url: string) => {
    sent.push(url);
    if (sent.length > refusals) {
      const answer = { error: 'not_found', message: 'no account' };
      return new Response(JSON.stringify(answer), {
        status: 404,
        headers: { 'x-request-id': 'r' },
      });
    }
    return new Response(JSON.stringify(body), { status: 503, headers: { 'x-request-id': 'r' } });
  };
  return { sent, client: clientOf({ baseUrl: 'http://x.test/v1' }, { fetch, ...options }) };
}

// Report 18: a call ended after ten attempts, long before its deadline.
deadline('allows more than ten attempts', async () => {
  const { client, sent } = refusedClient({ timeoutMs: 60_000 }, 12);
  await withJitter(0, () => rejection(client.account.get(), NotFoundError));
  assert.is(sent.length, 13);
});

deadline('ends the attempts of a call', async () => {
  const { client, sent } = refusedClient({ timeoutMs: 200 });
  const error = await withJitter(0, () => rejection(client.account.get(), DeadlineError));
  assert.is(error.attempts, sent.length);
  assert.instance(error.cause, ServiceUnavailableError);
  assert.match(error.message, /200 ms exceeded, attempts: \d+; last error: 503/);
});

for (const share of [0, 0.5, 0.999]) {
  // Report 18: the error class after a deadline depended on jitter.
  deadline(`leads to the same error class with any jitter: ${share}`, async () => {
    const { client } = refusedClient({ timeoutMs: 150 });
    await withJitter(share, () => rejection(client.account.get(), DeadlineError));
  });
}

// Report 18: calls had no attemptsMax, and errors lacked the number of attempts.
deadline('is not reached if the call has a maximum number of attempts', async () => {
  const { client, sent } = refusedClient();
  const call = withJitter(0, () =>
    rejection(client.account.get({ attemptsMax: 3 }), ServiceUnavailableError),
  );
  assert.equal([(await call).attempts, sent.length], [3, 3]);
  const none = await rejection(client.account.get({ attemptsMax: 0 }), IdentityEngineError);
  assert.match(none.message, /attemptsMax/);
  assert.equal([none.attempts, sent.length], [0, 3]);
});

// Report 18: errors lacked the number of attempts.
repeated('reports the number of attempts on every error', async () => {
  await using server = await FakeServer.start(cut, proxyPage(502), refusal(404, 'not_found'));
  const client = clientOf(server);
  assert.is((await rejection(client.account.get(), NotFoundError)).attempts, 3);
  const closed = clientOf({ baseUrl: await closedAddress() }, { attemptsMax: 2 });
  assert.is((await rejection(closed.account.get(), ConnectionError)).attempts, 2);
  await using foreign = await FakeServer.start(proxyPage(502));
  const call = clientOf(foreign).account.get({ attemptsMax: 2 });
  assert.is((await rejection(call, MalformedAnswerError)).attempts, 2);
});

deadline('of a read leaves no unknown outcome', async () => {
  await using server = await FakeServer.start(silence);
  const call = clientOf(server).account.get({ timeoutMs: 50 });
  assert.is((await rejection(call, DeadlineError)).mayHaveHappened, false);
});

repeated('reports the timeout if no retry follows', async () => {
  await using server = await FakeServer.start(silence);
  const client = clientOf(server, { attemptTimeoutMs: 30, attemptsMax: 2 });
  const error = await rejection(client.instance('inst_1').process(OBSERVATION), ConnectionError);
  assert.match(error.message, 'no answer within 30 ms');
  assert.is(error.mayHaveHappened, true);
});

const unclear = suite('the outcome of a change');

unclear('stays unknown if a later attempt is refused', async () => {
  await using server = await FakeServer.start(cut, refusal(429, 'quota_exceeded'));
  const call = clientOf(server).instance('inst_1').process(OBSERVATION);
  assert.is((await rejection(call, QuotaExceededError)).mayHaveHappened, true);
});

unclear('stays unknown if the last attempt could not connect', async () => {
  await using server = await FakeServer.start(cut);
  const closed = await closedAddress();
  let calls = 0;
  const fetchOnce = (url: string, init: RequestInit) => {
    calls += 1;
    return fetch(calls === 1 ? url : closed, init);
  };
  const client = clientOf(server, { fetch: fetchOnce, attemptsMax: 2 });
  const error = await rejection(client.instance('inst_1').process(OBSERVATION), ConnectionError);
  assert.is(error.mayHaveHappened, true);
});

unclear('is known if no attempt could connect', async () => {
  const client = clientOf({ baseUrl: await closedAddress() }, { attemptsMax: 2 });
  const error = await rejection(client.instance('inst_1').process(OBSERVATION), ConnectionError);
  assert.is(error.mayHaveHappened, false);
});

unclear('is unknown after a proxy page', async () => {
  await using server = await FakeServer.start(proxyPage(502));
  const client = clientOf(server, { attemptsMax: 1 });
  const error = await rejection(
    client.instance('inst_1').process(OBSERVATION),
    MalformedAnswerError,
  );
  assert.equal([error.status, error.mayHaveHappened], [502, true]);
  assert.match(error.excerpt, 'Bad Gateway');
});

const hook = suite('the attempt hook');

hook('receives each attempt, but never the key', async () => {
  const events: AttemptEvent[] = [];
  const failure = refusal(503, 'service_unavailable', 'overloaded');
  await using server = await FakeServer.start(failure, DONE);
  const onAttempt = (event: AttemptEvent) => void events.push(event);
  await clientOf(server, { onAttempt }).instance('inst_1').process(OBSERVATION);
  assert.equal(
    events.map(({ attempt, status, method, path }) => [attempt, status, method, path]),
    [
      [1, 503, 'POST', '/instances/inst_1/process'],
      [2, 200, 'POST', '/instances/inst_1/process'],
    ],
  );
  assert.instance(events[0]?.error, ServiceUnavailableError);
  assert.ok((events[0]?.retryInMs ?? -1) >= 0);
  assert.is(events[1]?.requestId, 'req_of_the_fake');
  assert.not.match(JSON.stringify(events), KEY);
});

hook('has no effect if it throws', async () => {
  await using server = await FakeServer.start(DONE);
  const onAttempt = () => {
    throw new Error('the log is full');
  };
  assert.is((await clientOf(server, { onAttempt }).account.get()).status, 200);
});

for (const each of [repeated, final, careful, waiting, deadline, unclear, hook]) each.run();
