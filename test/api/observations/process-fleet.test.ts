import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  assertRefused,
  limitOf,
  morning,
  observationAt,
  type SceneCaller,
  sharedScene,
} from '#test/support/calls/scene';

type Json = ReturnType<typeof JSON.parse>;

const { caller, newCaller } = await sharedScene();

const send = (observations: unknown, fields: object = {}, as: SceneCaller = caller) =>
  as.send('POST', '/process', { json: { observations, ...fields } });

/** Sends a body as text, which the JSON of the test could not express. */
const sendText = (body: string) =>
  caller.send('POST', '/process', { body, headers: { 'content-type': 'application/json' } });

const at = (id: string, seconds: number, fields: Record<string, unknown> = {}) => ({
  instance_id: id,
  ...observationAt(seconds, fields),
});

const statusesOf = ({ body }: { readonly body: Json }): string[] =>
  body.data.results.map(({ status }: Json) => status);

const instances = async (count: number, as: SceneCaller = caller): Promise<string[]> =>
  await Promise.all(Array.from({ length: count }, () => as.createInstance()));

const accepted = suite('a fleet call');

accepted('answers one result per observation, in input order, as the single calls', async () => {
  const [a = '', b = ''] = await instances(2);
  const answer = await send([at(a, 0), at(b, 0), at(a, 5), at(b, 5, { mode_target: 'ASSERTION' })]);
  assert.is(answer.status, 200);
  const { summary, results } = answer.body.data;
  assert.is(summary.applied, 4);
  assert.equal(
    results.map(({ index, instance_id, cycle }: Json) => [index, instance_id, cycle]),
    [
      [0, a, 1],
      [1, b, 1],
      [2, a, 2],
      [3, b, 2],
    ],
  );
  const [twin = ''] = await instances(1);
  await caller.process(twin, observationAt(0));
  const { snapshot, contract, drift } = await caller.process(twin, observationAt(5));
  const { cycle, stress_state, drift_level, allowed_actions, forbidden_actions } = results[2];
  assert.equal(
    [cycle, stress_state, drift_level, allowed_actions, forbidden_actions],
    [
      ...[snapshot.cycle, snapshot.stress_state, drift.level],
      ...[contract.allowed_actions, contract.forbidden_actions],
    ],
  );
});

accepted('with include_state has the state of each instance', async () => {
  const [a = ''] = await instances(1);
  const { body } = await send([at(a, 0)], { include_state: true });
  const [{ snapshot, contract, drift }] = body.data.results;
  const current = await caller.send('GET', `/instances/${a}/contract`);
  assert.is(snapshot.instance_id, a);
  assert.equal(contract, current.body.data);
  assert.is(drift.level, 'D0');
});

// The edge copies these fields from the text of the engine's answer.
accepted('has the same fields in a result and in its state, at all levels', async () => {
  const [a = ''] = await instances(1);
  const modes = ['ORDER', 'STRESS_RESPONSE', 'EXPLORATION', 'STRESS_RESPONSE', 'ASSERTION'];
  const observations = Array.from({ length: 400 }, (_, n) =>
    at(a, n * 5, {
      mode_target: modes[Math.floor(n / 40) % 5],
      signal_strength: n % 3 === 0 ? 1 : 0.8,
    }),
  );
  const { results } = (await send(observations, { include_state: true })).body.data;
  const levels = new Set<string>();
  for (const { snapshot, contract, drift, ...shown } of results) {
    assert.equal(
      [shown.cycle, shown.stress_state, shown.drift_level],
      [snapshot.cycle, snapshot.stress_state, drift.level],
    );
    assert.equal(shown.allowed_actions, contract.allowed_actions);
    assert.equal(shown.forbidden_actions, contract.forbidden_actions);
    levels.add(shown.stress_state).add(shown.drift_level);
  }
  assert.ok(levels.size >= 5, [...levels].join());
});

accepted('costs a request for each 100 observations, and the applied cycles', async () => {
  const ids = await instances(5);
  const before = await caller.send('GET', `/instances/${ids[0]}`);
  const observations = ids.flatMap((id) => Array.from({ length: 41 }, (_, n) => at(id, n)));
  const unknown = at('inst_00000000000000ff', 0);
  const answer = await send([...observations, unknown]);
  assert.is(answer.body.data.summary.applied, 205);
  assert.is(limitOf(answer, 'remaining'), limitOf(before, 'remaining') - 3);
  assert.is(limitOf(answer, 'monthly'), limitOf(before, 'monthly') - 205);
});

accepted('takes 1,000 observations with contexts in 1 MiB', async () => {
  const [a = ''] = await instances(1);
  const context = { note: 'x'.repeat(900) };
  const answer = await send(Array.from({ length: 1_000 }, (_, n) => at(a, n, { context })));
  assert.is(answer.body.data.summary.applied, 1_000);
  assert.is(answer.body.data.results[999].cycle, 1_000);
});

const order = suite('observations of one instance');

order('without timestamps follow the rule of the single call', async () => {
  const [a = ''] = await instances(1);
  const untimed = { instance_id: a, mode_target: 'ORDER', signal_strength: 0.5 };
  const before = await caller.send('GET', `/instances/${a}`);
  const answer = await send([untimed, untimed, untimed]);
  assert.equal(statusesOf(answer), ['applied', 'throttled', 'throttled']);
  const [, { cycle, retry, retry_after }] = answer.body.data.results;
  assert.equal([cycle, retry, retry_after], [1, 'after', 1]);
  assert.is(limitOf(answer, 'monthly'), limitOf(before, 'monthly') - 1);
});

order('with timestamps must ascend, and later observations are not attempted', async () => {
  const [a = '', b = ''] = await instances(2);
  const answer = await send([at(a, 2), at(a, 1), at(b, 0), at(a, 3)]);
  assert.equal(statusesOf(answer), ['applied', 'refused', 'applied', 'not_attempted']);
  const [, { refusal, retry, http_status }, , { retry: later }] = answer.body.data.results;
  assert.equal(refusal.details, {
    field: 'observations[1].timestamp',
    reason: 'timestamp_order',
  });
  assert.equal([retry, http_status, later], ['never', 422, 'after']);
});

const refusals = suite('an observation that is refused alone');

for (const [what, fields, reason, field] of [
  ['has an unknown mode', { mode_target: 'FOO' }, 'unknown_value', '.mode_target'],
  ['has no number as strength', { signal_strength: 'NaN' }, 'wrong_type', '.signal_strength'],
  ['has too large a context', { context: { a: 'x'.repeat(8_185) } }, 'too_long', '.context'],
  ['has an unknown field', { mood: 1 }, 'unknown_field', '.mood'],
  ['is in the future', { timestamp: '2999-01-01T00:00:00Z' }, 'timestamp_in_future', '.timestamp'],
  ['has an empty key', { idempotency_key: '' }, 'too_short', '.idempotency_key'],
  ['has no instance', { instance_id: undefined }, 'missing_field', '.instance_id'],
] as const) {
  refusals(`because it ${what} leaves the others`, async () => {
    const [a = '', b = ''] = await instances(2);
    const answer = await send([at(a, 0), at(b, 0, fields), at(a, 1)]);
    assert.equal(statusesOf(answer), ['applied', 'refused', 'applied']);
    const { refusal, http_status } = answer.body.data.results[1];
    assert.is(refusal.error, 'invalid_request');
    assert.equal([refusal.details.reason, http_status], [reason, 422]);
    assert.is(refusal.details.field, `observations[1]${field}`);
  });
}

// The parser refused the whole body for these texts.
for (const [what, member, reason] of [
  ['a duplicate key', '"signal_strength":0.5,"signal_strength":0.6', 'duplicate_key'],
  ['a key of the prototype', '"signal_strength":0.5,"context":{"__proto__":{}}', 'unknown_field'],
  ['a lone surrogate', '"signal_strength":0.5,"context":{"a":"\\ud800"}', 'invalid_text'],
] as const) {
  refusals(`because it has ${what} leaves the others`, async () => {
    const [a = '', b = ''] = await instances(2);
    const one = JSON.stringify(at(a, 0, { context: { kept: '\u00e9' } }));
    const bad = `{"instance_id":"${b}","mode_target":"ORDER",${member}}`;
    const answer = await sendText(`{"observations":[${one},${bad},${JSON.stringify(at(a, 1))}]}`);
    assert.equal(statusesOf(answer), ['applied', 'refused', 'applied']);
    assert.is(answer.body.data.results[1].refusal.details.reason, reason);
    const { data } = (await caller.send('GET', `/instances/${a}/history`)).body;
    assert.equal(data[1].context, { kept: 'é' });
  });
}

refusals('is the same for a foreign, an unknown and a malformed instance', async () => {
  const [a = '', deleted = ''] = await instances(2);
  await caller.send('DELETE', `/instances/${deleted}`);
  const foreign = await (await newCaller()).createInstance();
  const ids = [foreign, 'inst_00000000000000ff', 'inst_x', '', deleted];
  const answer = await send([...ids.map((id) => at(id, 0)), at(a, 0)]);
  assert.equal(statusesOf(answer), [...ids.map(() => 'refused'), 'applied']);
  const [first, ...others] = answer.body.data.results.slice(0, 5).map((result: Json) => {
    const { index: _, instance_id: __, ...rest } = result;
    return rest;
  });
  assert.is(first.http_status, 404);
  for (const other of others) assert.equal(other, first);
});

refusals('because its id cannot be repeated has no id in its result', async () => {
  const [a = ''] = await instances(1);
  const bad = `{"instance_id":"\\ud800","mode_target":"ORDER","signal_strength":1}`;
  const answer = await sendText(`{"observations":[${JSON.stringify(at(a, 0))},${bad}]}`);
  assert.equal(statusesOf(answer), ['applied', 'refused']);
  assert.is(answer.body.data.results[1].instance_id, undefined);
});

const whole = suite('a fleet call that is refused as a whole');

for (const [what, body, status, reason] of [
  ['has no observations', { observations: [] }, 422, 'too_short'],
  ['has 1,001 observations', { observations: new Array(1_001).fill({}) }, 422, 'too_long'],
  ['has an unknown field', { observations: [{}], mood: 1 }, 422, 'unknown_field'],
  ['has no list', { observations: {} }, 422, 'wrong_type'],
] as const) {
  whole(`because it ${what} changes nothing`, async () => {
    const before = await caller.send('GET', '/account');
    const answer = await caller.send('POST', '/process', { json: body });
    assert.is(answer.status, status);
    assert.is(answer.body.details.reason, reason);
    assert.is(limitOf(answer, 'monthly'), limitOf(before, 'monthly'));
    assert.is(limitOf(answer, 'remaining'), limitOf(before, 'remaining') - 1);
  });
}

// Each of them became a fault with a stack, before the limit of 1,000 was checked.
whole('because it has 70,000 unsound observations is too long', async () => {
  const answer = await sendText(`{"observations":[${'{"a":1,"a":1},'.repeat(70_000)}{}]}`);
  assert.equal([answer.status, answer.body.details.reason], [422, 'too_long']);
});

whole('because of its text is answered 4xx', async () => {
  const deep = `{"observations":[${'['.repeat(24)}${']'.repeat(24)}]}`;
  for (const [text, status, reason] of [
    ['{"observations":[NaN]}', 400, 'malformed_json'],
    ['{"observations":[{}],"observations":[{}]}', 400, 'duplicate_key'],
    [
      '{"observations":[{"a":1,"a":2}],"include_state":true,"include_state":true}',
      400,
      'duplicate_key',
    ],
    ['[{"observations":1,"observations":2}]', 400, 'duplicate_key'],
    [deep, 422, 'too_deep'],
    [' '.repeat(1_048_577), 413, 'body_too_large'],
  ] as const) {
    const answer = await sendText(text);
    assert.equal([answer.status, answer.body.details.reason], [status, reason]);
  }
});

whole('because the key is read-only is answered 403', async () => {
  const reader = await newCaller({ scope: 'read' });
  assertRefused(await send([at('inst_00000000000000ff', 0)], {}, reader), 403, 'forbidden', {
    reason: 'read_only_key',
  });
});

const quota = suite('the quota of an account with fleet calls');

const planned = (cycles: number) => newCaller({ requestsPerMinute: 1_000, cyclesPerMonth: cycles });

quota('admits exactly the remaining cycles, first in input order', async () => {
  const rich = await planned(400);
  const ids = await instances(10, rich);
  const observations = Array.from({ length: 1_000 }, (_, n) => at(ids[n % 10] ?? '', n));
  const answer = await send(observations, {}, rich);
  assert.is(limitOf(answer, 'monthly'), 0);
  const statuses = statusesOf(answer);
  assert.ok(statuses.slice(0, 400).every((status) => status === 'applied'));
  assert.ok(statuses.slice(400).every((status) => status === 'refused'));
  const { refusal, retry, retry_after } = answer.body.data.results[999];
  assert.equal([refusal.error, retry], ['quota_exceeded', 'after']);
  assert.ok(retry_after > 0);
  const again = await send(observations, {}, rich);
  assertRefused(again, 429, 'quota_exceeded');
});

quota('is never exceeded by two calls at once', async () => {
  const rich = await planned(1_000);
  const ids = await instances(20, rich);
  const observations = (from: number) =>
    Array.from({ length: 600 }, (_, n) => at(ids[(n % 10) + from] ?? '', n));
  const answers = await Promise.all([
    send(observations(0), {}, rich),
    send(observations(10), {}, rich),
  ]);
  const applied = answers.map(({ body }) => body.data.summary.applied);
  assert.is(applied[0] + applied[1], 1_000);
});

quota('refuses a call whose keys are all new, also beside an invalid observation', async () => {
  const poor = await planned(1);
  const [a = ''] = await instances(1, poor);
  await send([at(a, 0)], {}, poor);
  const answer = await send(
    [at(a, 1, { idempotency_key: 'new' }), at(a, 2, { mood: 1 })],
    {},
    poor,
  );
  assertRefused(answer, 429, 'quota_exceeded');
});

quota('still answers known keys', async () => {
  const rich = await planned(2);
  const [a = ''] = await instances(1, rich);
  const keyed = [0, 1, 2].map((n) => at(a, n, { idempotency_key: `key-${n}` }));
  assert.equal(statusesOf(await send(keyed, {}, rich)), ['applied', 'applied', 'refused']);
  const again = await send(keyed, {}, rich);
  assert.equal(statusesOf(again), ['replayed', 'replayed', 'refused']);
  assert.is(again.status, 200);
});

quota(
  'of requests refuses a call that does not fit, and then admits a single request',
  async () => {
    const poor = await newCaller({ requestsPerMinute: 5 });
    const [a = ''] = await instances(1, poor);
    const large = Array.from({ length: 500 }, (_, n) => at(a, n));
    assert.is((await send(large, {}, poor)).body.error, 'rate_limited');
    assert.is((await poor.send('GET', `/instances/${a}`)).status, 200);
    assert.is((await send(large.slice(0, 200), {}, poor)).body.data.summary.applied, 200);
  },
);

const keys = suite('a key of an observation');

keys('gets the same result again, in any fleet call', async () => {
  const [a = '', b = ''] = await instances(2);
  const keyed = [at(a, 0, { idempotency_key: 'k' }), at(b, 0, { idempotency_key: 'k' })];
  const first = await send(keyed);
  assert.equal(statusesOf(first), ['applied', 'applied']);
  await send([at(a, 9)]);
  const again = await send([...keyed.toReversed(), at(a, 20)]);
  assert.equal(statusesOf(again), ['replayed', 'replayed', 'applied']);
  const strip = ({ index: _, status: __, ...rest }: Json) => rest;
  assert.equal(
    again.body.data.results.slice(0, 2).map(strip),
    first.body.data.results.map(strip).toReversed(),
  );
});

keys('is shared with the single call and its header', async () => {
  const [a = ''] = await instances(1);
  const single = observationAt(0);
  const headers = { 'idempotency-key': 'shared' };
  const { results } = (await send([{ idempotency_key: 'shared', ...at(a, 0) }])).body.data;
  const alone = await caller.send('POST', `/instances/${a}/process`, { json: single, headers });
  assert.is(alone.headers.get('idempotent-replayed'), 'true');
  assert.is(alone.body.data.snapshot.cycle, results[0].cycle);
  const next = { json: observationAt(5), headers: { 'idempotency-key': 'next' } };
  await caller.send('POST', `/instances/${a}/process`, next);
  const answer = await send([at(a, 5, { idempotency_key: 'next' })]);
  assert.equal(statusesOf(answer), ['replayed']);
});

keys('twice in a call counts once, and belongs to one observation', async () => {
  const [a = '', b = ''] = await instances(2);
  const key = { idempotency_key: 'twice' };
  const answer = await send([
    ...[at(a, 0, key), { ...at(a, 9), ...key, timestamp: morning(9) }],
    ...[at(b, 0, key), at(b, 1)],
  ]);
  assert.equal(statusesOf(answer), ['applied', 'refused', 'applied', 'applied']);
  const { reason, field } = answer.body.data.results[1].refusal.details;
  assert.equal([reason, field], ['idempotency_key_reused', 'observations[1].idempotency_key']);
  const untimed = { instance_id: b, mode_target: 'ORDER', signal_strength: 0.5 };
  const same = { ...untimed, idempotency_key: 'same' };
  assert.equal(statusesOf(await send([same, same])), ['applied', 'replayed']);
  // A consumer of a queue that delivers at least once sends an observation twice.
  const [c = ''] = await instances(1);
  const timed = at(c, 0, { idempotency_key: 'timed' });
  const again = await send([timed, timed, at(c, 1)]);
  assert.equal(statusesOf(again), ['applied', 'replayed', 'applied']);
});

for (const each of [accepted, order, refusals, whole, quota, keys]) each.run();
