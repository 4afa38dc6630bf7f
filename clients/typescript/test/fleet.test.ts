import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { FleetObservation, FleetResult } from '../src/identity-engine.ts';
import { clientOf, rejection } from './support/clients.ts';
import { data, FakeServer, type Reaction, refusal } from './support/fake-server.ts';

type Body = { readonly observations: readonly (FleetObservation & { idempotency_key: string })[] };

const of = (id: string, fields: object = {}): FleetObservation => ({
  ...{ instance_id: id, mode_target: 'ORDER', signal_strength: 0.5 },
  ...fields,
});

const applied = { status: 'applied', cycle: 1 };
const away = { status: 'refused', retry: 'after', http_status: 503 };
const wrong = { status: 'refused', retry: 'never', http_status: 422 };
const behind = { status: 'not_attempted', retry: 'after' };

/** A service that gives these results in order, one list for each request. */
const answering = (...lists: readonly (readonly object[] | undefined)[]) => {
  const left = [...lists];
  return FakeServer.start((response, request) => {
    const given = left.shift();
    const { observations } = request.body as Body;
    const results = observations.map(({ instance_id }, index) => {
      return { index, instance_id, ...(given?.[index] ?? applied) };
    });
    return data({ summary: {}, results })(response, request);
  });
};

const bodies = ({ received }: FakeServer) =>
  received.map(({ body }) => (body as Body).observations);
const statusesOf = (results: readonly FleetResult[]) => results.map(({ status }) => status);

const calls = suite('observations of many instances');

calls('get keys, which their repetition keeps', async () => {
  await using server = await answering([applied, away, behind, wrong, behind]);
  const { data: answer, attempts } = await clientOf(server).process([
    ...[of('a'), of('b', { idempotency_key: 'mine' }), of('b'), of('c'), of('c')],
  ]);
  const [first = [], second = [], ...more] = bodies(server);
  assert.equal(more, []);
  assert.is(first[1]?.idempotency_key, 'mine');
  assert.is(new Set(first.map(({ idempotency_key: key }) => key)).size, 5);
  assert.equal(second, first.slice(1, 3));
  const { results, summary } = answer;
  assert.equal(statusesOf(results), ['applied', 'applied', 'applied', 'refused', 'not_attempted']);
  assert.equal(
    results.map(({ index }) => index),
    [0, 1, 2, 3, 4],
  );
  assert.equal([summary.applied, summary.refused, summary.not_attempted], [3, 1, 1]);
  assert.is(attempts, 2);
});

calls('are divided by number and by size, in order', async () => {
  await using server = await answering();
  const { data: many } = await clientOf(server).process(
    Array.from({ length: 2_001 }, () => of('a')),
  );
  assert.equal(
    bodies(server).map(({ length }) => length),
    [1_000, 1_000, 1],
  );
  assert.equal(
    many.results.map(({ index }) => index),
    Array.from({ length: 2_001 }, (_, n) => n),
  );
  assert.is(many.summary.applied, 2_001);
  await using small = await answering();
  const context = { text: 'é'.repeat(4_000) };
  await clientOf(small).process(Array.from({ length: 200 }, () => of('a', { context })));
  const sizes = small.received.map(({ body }) => Buffer.byteLength(JSON.stringify(body)));
  assert.is(sizes.length, 2);
  assert.ok(sizes.every((bytes) => bytes <= 1_048_576));
});

// The caller would not learn which observations of the first call were applied.
calls('keep the results of earlier calls if a later call fails', async () => {
  const refuse = refusal(429, 'quota_exceeded');
  let requests = 0;
  const reaction: Reaction = (response, request) => {
    requests += 1;
    if (requests > 1) return refuse(response, request);
    const { observations } = request.body as Body;
    return data({ results: observations.map((_, index) => ({ index, ...applied })) })(
      response,
      request,
    );
  };
  await using server = await FakeServer.start(reaction);
  const observations = Array.from({ length: 2_500 }, (_, n) => of(`i${n}`));
  const { data: answer } = await clientOf(server).process(observations);
  assert.equal([answer.summary.applied, answer.summary.not_attempted], [1_000, 1_500]);
  assert.is(answer.results[1_000]?.refusal?.error, 'quota_exceeded');
  assert.is(answer.results[2_499]?.index, 2_499);
  requests = 1;
  await rejection(clientOf(server).process(observations), Error);
});

calls('have unknown outcomes only if the call may have happened', async () => {
  let requests = 0;
  await using server = await FakeServer.start((response, request) => {
    requests += 1;
    if (requests > 1)
      return refusal(503, 'service_unavailable', 'outcome_unknown')(response, request);
    const { observations } = request.body as Body;
    return data({ results: observations.map((_, index) => ({ index, ...applied })) })(
      response,
      request,
    );
  });
  const observations = Array.from({ length: 2_001 }, () => of('a'));
  const { data: answer } = await clientOf(server, { attemptsMax: 1 }).process(observations);
  assert.equal(
    [answer.summary.applied, answer.summary.unknown, answer.summary.not_attempted],
    [1_000, 1_000, 1],
  );
  assert.is(answer.results[1_000]?.retry, 'same_key');
});

// A later observation was applied before an earlier one, which was then throttled for ever.
calls('keep the order of an instance across calls', async () => {
  const refusedLast = Array.from({ length: 999 }, () => applied);
  await using server = await answering([...refusedLast, wrong]);
  const observations = Array.from({ length: 1_003 }, (_, n) =>
    of(n >= 999 && n < 1_002 ? 'a' : `i${n}`),
  );
  const { data: answer } = await clientOf(server).process(observations);
  const end = ['refused', 'not_attempted', 'not_attempted', 'applied'];
  assert.equal(statusesOf(answer.results.slice(999)), end);
  assert.equal(
    bodies(server).map(({ length }) => length),
    [1_000, 1],
  );
});

calls.run();
