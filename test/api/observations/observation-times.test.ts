import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Answer } from '#test/support/calls/caller';
import { limitOf, MORNING_MS, observationAt, sharedScene } from '#test/support/calls/scene';
import { assertServed, ModelReplay } from '#test/support/model-replay';

const { caller } = await sharedScene();
const NOW = { mode_target: 'ORDER', signal_strength: 0.5 };
const isoAt = (timeMs: number) => new Date(timeMs).toISOString();
const send = (id: string, json: unknown) =>
  caller.send('POST', `/instances/${id}/process`, { json });
const timesOf = async (id: string): Promise<number[]> => {
  const { data } = (await caller.send('GET', `/instances/${id}/history`)).body;
  return data.map(({ timestamp }: { timestamp: string }) => Date.parse(timestamp)).toReversed();
};

const early = suite('an observation less than a second after the previous one');

early('is answered 200 with the previous snapshot, contract and drift', async () => {
  const id = await caller.createInstance();
  const previous = await caller.process(id, observationAt(10));
  const answer = await send(id, observationAt(10.999, { signal_strength: 0 }));
  assert.is(answer.status, 200);
  assert.is(answer.headers.get('x-throttled'), 'true');
  assert.equal(answer.body.data, previous);
});

early('repeats the drift of a cycle that was rolled back', async () => {
  const id = await caller.createInstance({
    initial_config: { mode_strengths: { perception: 0.85, order: 0.75, identity: 0.45 } },
  });
  let level = '';
  let seconds = 0;
  for (; level !== 'D3' && seconds < 3_000; seconds += 30) {
    const mode_target = ['EXPLORATION', 'ASSERTION', 'CONNECTION'][(seconds / 30) % 3];
    const found = await caller.process(
      id,
      observationAt(seconds, { mode_target, signal_strength: 1 }),
    );
    level = found.drift.level;
    if (level !== 'D3') continue;
    const throttled = await send(id, observationAt(seconds));
    assert.equal(throttled.body.data, found);
  }
  assert.is(level, 'D3');
});

early('is answered with the time to wait in whole seconds, at least one', async () => {
  const id = await caller.createInstance();
  await caller.process(id, observationAt(10));
  const waits = { 10: '1', 10.999: '1', 10.001: '1', 9.999: '2', 9: '2', 0: '11' };
  for (const [seconds, wait] of Object.entries(waits)) {
    const answer = await send(id, observationAt(Number(seconds)));
    assert.is(answer.headers.get('x-throttled'), 'true', seconds);
    assert.is(answer.headers.get('retry-after'), wait, seconds);
  }
});

early('costs no cycle, and changes no record, time or tag', async () => {
  const id = await caller.createInstance();
  await caller.process(id, observationAt(10));
  const before = await caller.send('GET', `/instances/${id}`);
  const answer = await send(id, observationAt(10.5));
  const after = await caller.send('GET', `/instances/${id}`);
  assert.is(limitOf(answer, 'monthly'), limitOf(before, 'monthly'));
  assert.is(limitOf(answer, 'remaining'), limitOf(before, 'remaining') - 1);
  assert.equal(after.body, before.body);
  assert.is(after.headers.get('etag'), before.headers.get('etag'));
  assert.is((await timesOf(id)).length, 1);
});

early('does not extend the interval, which runs from the accepted observation', async () => {
  const id = await caller.createInstance();
  await caller.process(id, observationAt(10));
  await send(id, observationAt(10.9));
  await caller.process(id, observationAt(11));
});

early('without timestamps is throttled by the server’s clock', async () => {
  const id = await caller.createInstance();
  const asked = [];
  // Several parallel calls, because on a slow machine a second may pass between two calls.
  for (let index = 0; index < 5; index += 1) asked.push(send(id, NOW));
  const answers = await Promise.all(asked);
  const throttled = answers.filter(({ headers }) => headers.get('x-throttled') === 'true');
  assert.is(throttled.length, answers.length - (await timesOf(id)).length);
  assert.ok(throttled.length > 0);
  for (const { headers } of throttled) assert.is(headers.get('retry-after'), '1');
});

early('does not throttle another instance', async () => {
  await caller.process(await caller.createInstance(), NOW);
  await caller.process(await caller.createInstance(), NOW);
});

const exact = suite('an observation exactly one second after the previous one');

exact('is accepted and advances a cycle', async () => {
  const id = await caller.createInstance();
  await caller.process(id, observationAt(10));
  const { snapshot } = await caller.process(id, observationAt(11));
  assert.is(snapshot.cycle, 2);
});

exact('is measured in whole milliseconds', async () => {
  const id = await caller.createInstance();
  await caller.process(id, { ...NOW, timestamp: '2026-01-15T08:00:00.000999Z' });
  await caller.process(id, { ...NOW, timestamp: '2026-01-15T08:00:01.000000Z' });
});

const past = suite('an observation with a timestamp');

past('before the creation is applied as if no time had passed', async () => {
  const id = await caller.createInstance({ initial_config: { energy_level: 0.3 } });
  const replay = new ModelReplay(MORNING_MS, { energyLevel: 0.3 });
  const seen = { mode_target: 'CONNECTION', signal_strength: 0.6 };
  const served = await caller.process(id, { ...seen, timestamp: isoAt(MORNING_MS) });
  replay.observe(seen, MORNING_MS);
  assertServed(served, replay.expected(), ['instance_id', 'description']);
});

past('advances the model by the time since the previous observation', async () => {
  const id = await caller.createInstance({ initial_config: { energy_level: 0.3 } });
  const replay = new ModelReplay(MORNING_MS, { energyLevel: 0.3 });
  for (const seconds of [0, 1, 3_601, 90_001.5]) {
    const seen = { mode_target: 'ASSERTION', signal_strength: 0.9, confidence: 0.5 };
    const served = await caller.process(id, observationAt(seconds, seen));
    replay.observe(seen, MORNING_MS + seconds * 1_000);
    assertServed(served, replay.expected(), ['instance_id', 'description']);
  }
});

past('advances the model by the time since the creation if it is the first', async () => {
  const made = await caller.send('POST', '/instances', {
    json: { name: 'x', initial_config: { energy_level: 0.3 } },
  });
  const createdMs = Date.parse(made.body.data.created_at);
  const replay = new ModelReplay(createdMs, { energyLevel: 0.3 });
  const seen = { mode_target: 'CONNECTION', signal_strength: 0.6 };
  const timestamp = isoAt(createdMs + 200_123);
  const served = await caller.process(made.body.data.id, { ...seen, timestamp });
  replay.observe(seen, createdMs + 200_123);
  assertServed(served, replay.expected(), ['instance_id', 'description']);
});

/** Asserts that the wait in `Retry-After` of a call sent at `askedMs` ends at about `timeMs`. */
function assertWaitUntil(timeMs: number, { headers }: Answer, askedMs: number): void {
  const waitMs = Number(headers.get('retry-after')) * 1_000;
  assert.ok(waitMs <= timeMs - askedMs + 2_000 && waitMs >= timeMs - Date.now() - 2_000);
}

const ahead = suite(
  'an observation without a timestamp, if the previous time is ahead of the clock',
);

ahead('is throttled until the clock has caught up', async () => {
  const id = await caller.createInstance();
  const aheadMs = Date.now() + 200_000;
  await caller.process(id, { ...NOW, timestamp: isoAt(aheadMs) });
  for (const startMs = performance.now(); performance.now() - startMs < 1_200; ) {
    const askedMs = Date.now();
    const answer = await send(id, NOW);
    assert.is(answer.headers.get('x-throttled'), 'true');
    assertWaitUntil(aheadMs, answer, askedMs);
  }
  await caller.process(id, { ...NOW, timestamp: isoAt(aheadMs + 1_000) });
  assert.equal(await timesOf(id), [aheadMs, aheadMs + 1_000]);
});

ahead('is throttled in a batch as well', async () => {
  const id = await caller.createInstance();
  await caller.process(id, { ...NOW, timestamp: isoAt(Date.now() - 1_500) });
  const observations = Array.from({ length: 100 }, () => NOW);
  const sendBatch = () =>
    caller.send('POST', `/instances/${id}/process/batch`, { json: { observations } });
  assert.is((await sendBatch()).body.data.processed_count, 100);
  const [lastMs = 0] = (await timesOf(id)).slice(-1);
  for (const startMs = performance.now(); performance.now() - startMs < 1_200; ) {
    const askedMs = Date.now();
    const answer = await sendBatch();
    assert.is(answer.body.data.processed_count, 0);
    assertWaitUntil(lastMs, answer, askedMs);
  }
});

for (const each of [early, exact, past, ahead]) each.run();
