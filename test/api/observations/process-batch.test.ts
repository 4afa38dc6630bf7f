import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { assertRefused, limitOf, observationAt, sharedScene } from '#test/support/calls/scene';

const { caller, newCaller } = await sharedScene();
const send = (id: string, json: unknown, headers: Record<string, string> = {}) =>
  caller.send('POST', `/instances/${id}/process/batch`, { json, headers });
const timesOf = async (id: string): Promise<number[]> => {
  const { data } = (await caller.send('GET', `/instances/${id}/history?limit=1000`)).body;
  return data.map(({ timestamp }: { timestamp: string }) => Date.parse(timestamp)).toReversed();
};
const untimed = (count: number) =>
  Array.from({ length: count }, () => ({ mode_target: 'ORDER', signal_strength: 0.5 }));
const timed = (count: number, from = 0) =>
  Array.from({ length: count }, (_, index) => observationAt(from + index));

const accepted = suite('a batch');

accepted('is answered 200 with the last state and the count', async () => {
  const id = await caller.createInstance();
  const answer = await send(id, { observations: timed(3) });
  assert.is(answer.status, 200);
  const { data } = answer.body;
  assert.equal(Object.keys(data), ['snapshot', 'contract', 'drift', 'processed_count']);
  assert.is(data.processed_count, 3);
  assert.is(data.snapshot.cycle, 3);
  assert.match(answer.headers.get('etag') ?? '', /^"snap_[0-9a-f]{16}"$/);
});

accepted('with contexts full of numbers up to the limit is answered 200', async () => {
  const id = await caller.createInstance();
  // Printed as doubles, these numbers would take five times as much space.
  const numbers = Array.from({ length: 360 }, () => '1e20').join(',');
  const one = `{"mode_target":"ORDER","signal_strength":0.5,"context":{"n":[${numbers}]}}`;
  const body = `{"observations":[${Array.from({ length: 100 }, () => one).join(',')}]}`;
  const answer = await caller.send('POST', `/instances/${id}/process/batch`, {
    body,
    headers: { 'content-type': 'application/json' },
  });
  assert.is(answer.status, 200);
});

accepted('with include_intermediate is answered 200 with every state in order', async () => {
  const id = await caller.createInstance();
  const answer = await send(id, { observations: timed(3), include_intermediate: true });
  assert.equal(Object.keys(answer.body.data), ['states', 'processed_count']);
  const { states, processed_count } = answer.body.data;
  assert.is(processed_count, 3);
  assert.equal(
    states.map((state: ReturnType<typeof JSON.parse>) => state.snapshot.cycle),
    [1, 2, 3],
  );
  const whole = await send(await caller.createInstance(), {
    observations: timed(3),
    include_intermediate: false,
  });
  const { instance_id: _, ...last } = states[2].snapshot;
  const { instance_id: __, ...same } = whole.body.data.snapshot;
  assert.equal(last, same);
});

accepted('of one item is answered 200, with and without a timestamp', async () => {
  const id = await caller.createInstance();
  assert.is((await send(id, { observations: timed(1) })).status, 200);
  assert.is((await send(id, { observations: untimed(1) })).body.data.processed_count, 1);
});

accepted('of 100 observations is answered 200 and costs one request and 100 cycles', async () => {
  const id = await caller.createInstance();
  const before = await caller.send('GET', `/instances/${id}`);
  const after = await send(id, { observations: timed(100) });
  assert.is(after.body.data.processed_count, 100);
  assert.is(limitOf(after, 'remaining'), limitOf(before, 'remaining') - 1);
  assert.is(limitOf(after, 'monthly'), limitOf(before, 'monthly') - 100);
});

accepted('of almost 256 KiB is answered 200', async () => {
  const id = await caller.createInstance();
  const context = { a: 'x'.repeat(8_000) };
  const observations = timed(32).map((observation) => ({ ...observation, context }));
  assert.is((await send(id, { observations })).status, 200);
});

const spaced = suite('a batch without timestamps');

spaced('on a new instance is spaced by one second and ends now', async () => {
  const id = await caller.createInstance();
  const beforeMs = Date.now();
  await send(id, { observations: untimed(5) });
  const times = await timesOf(id);
  const first = times[0] ?? 0;
  assert.equal(
    times,
    times.map((_, index) => first + index * 1_000),
  );
  const endMs = times.at(-1) ?? 0;
  assert.ok(endMs >= beforeMs - 50 && endMs <= Date.now() + 50, 'ends now');
});

spaced('starts one second after the previous observation if it would overlap', async () => {
  const id = await caller.createInstance();
  const previousMs = Date.now() - 2_000;
  const timestamp = new Date(previousMs).toISOString();
  await caller.process(id, observationAt(0, { timestamp }));
  assert.is((await send(id, { observations: untimed(5) })).status, 200);
  const expected = [1, 2, 3, 4, 5].map((second) => previousMs + second * 1_000);
  assert.equal((await timesOf(id)).slice(1), expected);
});

const early = suite('a batch that is too early');

early('without timestamps is throttled as a whole: 200, the previous state, count 0', async () => {
  const { id, previous, before, answer } = await batchAtOnce();
  const { snapshot, contract, drift } = previous;
  assert.is(answer.status, 200);
  assert.is(answer.headers.get('x-throttled'), 'true');
  assert.is(answer.headers.get('retry-after'), '1');
  assert.equal(answer.body.data, { snapshot, contract, drift, processed_count: 0 });
  assert.is(limitOf(answer, 'monthly'), limitOf(before, 'monthly') - 1);
  assert.is((await timesOf(id)).length, 1);
});

/** Sends an observation and a batch. Repeats both until they are sent within one second. */
async function batchAtOnce() {
  for (;;) {
    const id = await caller.createInstance();
    const before = await caller.send('GET', `/instances/${id}`);
    const startedMs = performance.now();
    const previous = await caller.process(id, untimed(1)[0] ?? {});
    const answer = await send(id, { observations: untimed(3) });
    if (performance.now() - startedMs < 1_000) return { id, previous, before, answer };
  }
}

early('with include_intermediate has no states', async () => {
  const id = await caller.createInstance();
  await caller.process(id, observationAt(0));
  const answer = await send(id, { observations: timed(2, -5), include_intermediate: true });
  assert.is(answer.headers.get('x-throttled'), 'true');
  assert.is(answer.headers.get('retry-after'), '6');
  assert.equal(answer.body, { data: { states: [], processed_count: 0 } });
});

early('is detected by the time of its first item', async () => {
  const id = await caller.createInstance();
  await caller.process(id, observationAt(10));
  const tooEarly = await send(id, { observations: [observationAt(10.999), observationAt(500)] });
  assert.is(tooEarly.body.data.processed_count, 0);
  const inTime = await send(id, { observations: [observationAt(11), observationAt(500)] });
  assert.is(inTime.body.data.processed_count, 2);
});

early('is answered 429 to a caller that prefers strict handling', async () => {
  const id = await caller.createInstance();
  await caller.process(id, observationAt(10));
  const answer = await send(id, { observations: timed(2, 10) }, { prefer: 'handling=strict' });
  assertRefused(answer, 429, 'throttled', { reason: 'min_cycle_interval' });
  assert.is(answer.body.retry_after, 1);
  assert.is(answer.headers.get('retry-after'), '1');
  assert.is(answer.headers.get('preference-applied'), 'handling=strict');
});

const refused = suite('a batch that breaks a rule');
const id = await caller.createInstance();
const one = observationAt(0);

const WRONG: readonly [what: string, body: unknown, field: string | undefined, reason: string][] = [
  ['nothing', {}, 'observations', 'missing_field'],
  ['an empty list', { observations: [] }, 'observations', 'too_short'],
  ['101 observations', { observations: timed(101) }, 'observations', 'too_long'],
  ['no list', { observations: one }, 'observations', 'wrong_type'],
  ['null', { observations: null }, 'observations', 'wrong_type'],
  ['a bare list', [one], undefined, 'wrong_type'],
  ['an unknown field', { observations: [one], mode: 'x' }, 'mode', 'unknown_field'],
  [
    'include_intermediate as text',
    { observations: [one], include_intermediate: 'true' },
    'include_intermediate',
    'wrong_type',
  ],
  [
    'a broken last item',
    { observations: [...timed(2), { ...observationAt(2), signal_strength: 2 }] },
    'observations[2].signal_strength',
    'out_of_range',
  ],
  [
    'an unknown field of an item',
    { observations: [one, { ...observationAt(1), x: 1 }] },
    'observations[1].x',
    'unknown_field',
  ],
  ['an item that is null', { observations: [one, null] }, 'observations[1]', 'wrong_type'],
  [
    'a time on the second item only',
    { observations: [untimed(1)[0], one] },
    'observations[1].timestamp',
    'timestamps_mixed',
  ],
  [
    'no time on the third item',
    { observations: [...timed(2), untimed(1)[0]] },
    'observations[2].timestamp',
    'timestamps_mixed',
  ],
  [
    'items 0.999 s apart',
    { observations: [one, observationAt(0.999)] },
    'observations[1].timestamp',
    'timestamp_order',
  ],
  [
    'a third item 0.5 s after the second',
    { observations: [one, observationAt(1), observationAt(1.5)] },
    'observations[2].timestamp',
    'timestamp_order',
  ],
  [
    'items in descending order',
    { observations: [observationAt(9), one] },
    'observations[1].timestamp',
    'timestamp_order',
  ],
  [
    'an item far in the future',
    { observations: [one, observationAt(0, { timestamp: '2199-01-01T00:00:00Z' })] },
    'observations[1].timestamp',
    'timestamp_in_future',
  ],
];

for (const [what, body, field, reason] of WRONG) {
  refused(`with ${what} is answered 422 with the field`, async () => {
    const details = field === undefined ? { reason } : { field, reason };
    assertRefused(await send(id, body), 422, 'invalid_request', details);
  });
}

refused('of more than 256 KiB is answered 413', async () => {
  const body = JSON.stringify({ observations: [one] }).padEnd(256 * 1_024 + 1);
  const answer = await caller.send('POST', `/instances/${id}/process/batch`, { body });
  assertRefused(answer, 413, 'invalid_request', { reason: 'body_too_large' });
});

refused('is neither applied nor charged', async () => {
  assert.equal(await timesOf(id), []);
  const before = await caller.send('GET', `/instances/${id}`);
  const after = await send(id, { observations: [] });
  assert.is(limitOf(after, 'monthly'), limitOf(before, 'monthly'));
});

refused('larger than the remaining quota is answered 429, and a smaller batch 200', async () => {
  const poor = await newCaller({ cyclesPerMonth: 5 });
  const own = await poor.createInstance();
  const path = `/instances/${own}/process/batch`;
  const tooMany = await poor.send('POST', path, { json: { observations: timed(6) } });
  assertRefused(tooMany, 429, 'quota_exceeded');
  assert.is(limitOf(tooMany, 'monthly'), 5);
  const fits = await poor.send('POST', path, { json: { observations: timed(5) } });
  assert.is(fits.body.data.snapshot.cycle, 5);
  assert.is(limitOf(fits, 'monthly'), 0);
});

for (const each of [accepted, spaced, early, refused]) each.run();
