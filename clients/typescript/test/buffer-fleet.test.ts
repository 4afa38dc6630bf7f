import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { FleetResult, RejectedObservation } from '../src/identity-engine.ts';
import {
  done,
  numbersOf,
  observation,
  type Reply,
  refused,
  type Sent,
  sceneOf,
} from './support/buffer-scene.ts';

const OF_SERVICE = { 'x-request-id': 'req_of_the_scene' };

const CONTRACT = { forbidden_actions: ['explore'], allowed_actions: [] };

/** Replies to a fleet call with these results; further observations are applied. */
const fleet =
  (...given: readonly Partial<FleetResult>[]): Reply =>
  ({ observations }) => {
    const results = observations.map((_, index) => {
      const state = { status: 'applied', cycle: 1, contract: CONTRACT };
      return { index, ...state, ...given[index] };
    });
    return new Response(JSON.stringify({ data: { summary: {}, results } }), {
      headers: OF_SERVICE,
    });
  };

/** Instances of a request: several for a fleet call. */
const instancesOf = ({ instanceId, observations }: Sent) =>
  instanceId === ''
    ? observations.map((each) => (each as { instance_id?: string }).instance_id)
    : [instanceId];

function scene(...replies: Reply[]) {
  const rejected: RejectedObservation[] = [];
  const onRejected = (each: RejectedObservation) => void rejected.push(each);
  return { rejected, ...sceneOf({ fleetCalls: true, onRejected }, ...replies) };
}

const shared = suite('batches that are due together');

shared('share one request, and update the guards of their handles', async () => {
  const { buffer, client, clock, sent } = scene(fleet());
  const handle = client.instance('inst_b');
  await buffer.add('inst_a', observation(1));
  await buffer.add(handle, observation(2));
  await buffer.add('inst_a', observation(3));
  const { acknowledged } = await clock.run(buffer.close());
  assert.is(acknowledged, 3);
  assert.equal(sent.map(instancesOf), [['inst_a', 'inst_a', 'inst_b']]);
  assert.equal(handle.guard().contract, CONTRACT);
});

shared('are calls of their own if there is one instance, or many observations', async () => {
  const one = scene(done);
  await one.buffer.add('inst_a', observation(1));
  await one.clock.run(one.buffer.close());
  assert.equal(one.sent.map(instancesOf), [['inst_a']]);
  const large = scene(done);
  for (let number = 0; number < 5; number += 1) {
    await large.buffer.add('inst_a', observation(number));
    await large.buffer.add('inst_b', observation(number));
  }
  await large.clock.run(large.buffer.close());
  assert.equal(large.sent.map(instancesOf), [['inst_a'], ['inst_b']]);
});

shared('are batches again if the service has no fleet calls', async () => {
  const { buffer, clock, sent } = scene(refused(404, 'not_found'), done);
  for (const number of [1, 2]) {
    await buffer.add('inst_a', observation(number));
    await buffer.add('inst_b', observation(number));
    await clock.run(buffer.flush());
  }
  const { acknowledged } = await clock.run(buffer.close());
  assert.is(acknowledged, 4);
  assert.equal(
    sent.map((each) => instancesOf(each).length),
    [2, 1, 1, 1, 1],
  );
});

const outcomes = suite('an observation in a shared request');

outcomes('is rejected alone, and its batch goes on with the same keys', async () => {
  const details = { reason: 'out_of_range', field: 'observations[1].signal_strength' };
  const refusal = { error: 'invalid_request', message: 'it is', details };
  const { buffer, clock, sent, rejected } = scene(
    fleet({}, { status: 'refused', http_status: 422, refusal } as never, {
      status: 'not_attempted',
    }),
    ({ observations }) => {
      const results = observations.map((_, index) => ({
        ...{ index, status: index === 0 ? 'replayed' : 'applied' },
      }));
      const data = { processed_count: 1, results, contract: {} };
      return new Response(JSON.stringify({ data }), { headers: OF_SERVICE });
    },
  );
  for (const number of [1, 2, 3]) await buffer.add('inst_a', observation(number));
  await buffer.add('inst_b', observation(4));
  const { acknowledged, replayed } = await clock.run(buffer.close());
  assert.equal([acknowledged, replayed], [3, 1]);
  assert.equal(
    rejected.map(({ observation: { context } }) => context?.['number']),
    [2],
  );
  assert.is(rejected[0]?.error.field, 'observations[1].signal_strength');
  assert.equal(sent.map(numbersOf), [
    [1, 2, 3, 4],
    [1, 3],
  ]);
  const keys = sent.map(({ observations }) =>
    observations.map((each) => (each as { idempotency_key?: string }).idempotency_key),
  );
  assert.equal(keys[1], [keys[0]?.[0], keys[0]?.[2]]);
});

outcomes('with unknown outcome is sent again, without a delay for the others', async () => {
  const lost = { status: 'unknown', http_status: 503, retry: 'same_key' } as const;
  const { buffer, clock, sent } = scene(fleet(lost), done);
  await buffer.add('inst_a', observation(1));
  await buffer.add('inst_b', observation(2));
  const { acknowledged } = await clock.run(buffer.close());
  assert.is(acknowledged, 2);
  assert.equal(sent.map(numbersOf), [[1, 2], [1]]);
  const [first, second] = sent.map(({ observations: [each] }) => each);
  const { instance_id: _, ...again } = first as { instance_id?: string };
  assert.equal(second, again);
});

outcomes('that is too early is sent with a later timestamp', async () => {
  const early = { status: 'throttled', retry_after: 2 } as const;
  const { buffer, clock, sent } = scene(fleet({}, early), done);
  await buffer.add('inst_a', observation(1));
  await buffer.add('inst_b', observation(2));
  const { acknowledged, throttledCount } = await clock.run(buffer.close());
  assert.equal([acknowledged, throttledCount], [2, 0]);
  const times = sent.map(({ observations }) => Date.parse(observations.at(-1)?.timestamp ?? ''));
  assert.is((times[1] ?? 0) - (times[0] ?? 0), 2_000);
});

for (const each of [shared, outcomes]) each.run();
