import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { newCaller } from '../../../test/support/calls/caller.ts';
import { startStandalone } from '../../../test/support/servers/service.ts';
import {
  ACTIONS,
  ConflictError,
  ForbiddenError,
  IdentityEngine,
  type InstanceEvent,
  type InstanceHandle,
  InvalidRequestError,
  isKnownAction,
  NotFoundError,
  ObservationBuffer,
  ThrottledError,
  UnauthorizedError,
} from '../src/identity-engine.ts';
import { rejection } from './support/clients.ts';

const real = suite('against a real service');

const service = await startStandalone();
const { key } = await newCaller(service);
const client = new IdentityEngine({ apiKey: key, baseUrl: service.api });

real.after(async () => await service[Symbol.asyncDispose]());

async function newInstance(name = 'Ada') {
  return client.instance((await client.instances.create({ name })).data.id);
}

real('an instance is created, described, renamed, listed and deleted', async () => {
  const created = await client.instances.create({ name: 'Ada', description: 'writes' });
  const { id } = created.data;
  assert.is(created.status, 201);
  const got = await client.instances.get(id);
  assert.is(got.data.name, 'Ada');
  assert.ok(got.etag && got.limits && got.requestId);
  const same = await client.instances.get(id, { ifNoneMatch: got.etag });
  assert.is(same.isNotModified, true);
  const renamed = await client.instances.update(id, { name: 'Eva' }, { ifMatch: got.etag });
  assert.is(renamed.data.name, 'Eva');
  const stale = client.instances.update(id, { name: 'Ida' }, { ifMatch: got.etag });
  assert.is((await rejection(stale, ConflictError)).reason, 'version_mismatch');
  const listed = await client.instances.list({ search: id });
  assert.equal([listed.data.length, await listed.next()], [1, undefined]);
  assert.equal((await client.instances.delete(id)).data, { id, deleted: true });
  await rejection(client.instances.get(id), NotFoundError);
});

real('a create with the same key returns the same instance', async () => {
  const idempotencyKey = 'the same';
  const first = await client.instances.create({ name: 'Ada' }, { idempotencyKey });
  const second = await client.instances.create({ name: 'Ada' }, { idempotencyKey });
  assert.is(second.data.id, first.data.id);
  assert.equal([first.isReplayed, second.isReplayed], [false, true]);
});

real('an early observation is throttled, as a value or as an error', async () => {
  const instance = await newInstance();
  const observation = { mode_target: 'ORDER', signal_strength: 0.7 } as const;
  const first = await instance.process(observation);
  assert.equal([first.throttled, first.data.snapshot.cycle], [undefined, 1]);
  const second = await instance.process(observation);
  assert.equal([second.throttled, second.data.snapshot.cycle], [{ retryAfterMs: 1_000 }, 1]);
  const strict = await rejection(instance.process(observation, { strict: true }), ThrottledError);
  assert.equal([strict.retryAfterS, strict.mayHaveHappened], [1, false]);
});

real('batches, histories and drift events can be read completely', async () => {
  const instance = await newInstance();
  const startMs = Date.now() - 3_600_000;
  const observations = Array.from({ length: 25 }, (_, index) => ({
    mode_target: 'STRESS_RESPONSE' as const,
    signal_strength: 1,
    timestamp: new Date(startMs + index * 1_000).toISOString(),
  }));
  const batch = await instance.processBatch(observations);
  assert.is(batch.data.processed_count, 25);
  const cycles: number[] = [];
  for await (const { cycle } of instance.iterateHistory({ limit: 10 })) cycles.push(cycle);
  assert.equal(
    cycles,
    Array.from({ length: 25 }, (_, index) => 25 - index),
  );
  const whole = await instance.drift();
  const drifts: number[] = [];
  for await (const { cycle } of instance.iterateDrift({ limit: 2 })) drifts.push(cycle);
  assert.ok(drifts.length > 2);
  assert.equal(
    drifts,
    whole.data.map(({ cycle }) => cycle),
  );
});

real('the refusal of an invalid batch names the field', async () => {
  const instance = await newInstance();
  const bad = { mode_target: 'ORDER', signal_strength: 2 } as const;
  const error = await rejection(instance.processBatch([bad]), InvalidRequestError);
  assert.equal(
    [error.status, error.field, error.reason],
    [422, 'observations[0].signal_strength', 'out_of_range'],
  );
});

real('a guard follows the contracts of answers, even after a reset', async () => {
  const instance = await newInstance();
  const guard = instance.guard({ maxAgeMs: 60_000 });
  const { data } = await instance.process({ mode_target: 'ORDER', signal_strength: 0.9 });
  const { allowed_actions, forbidden_actions } = data.contract;
  assert.ok([...allowed_actions, ...forbidden_actions].every(isKnownAction));
  for (const action of Object.values(ACTIONS)) {
    assert.is(guard.verdict(action) === 'allowed', allowed_actions.includes(action), action);
    assert.is(guard.allows(action), !forbidden_actions.includes(action), action);
  }
  assert.is((await instance.reset('initial')).data.cycle, 0);
  await guard.refresh();
  assert.equal(guard.contract, (await instance.contract()).data);
});

real('past states equal the answers of that time, and a fork begins in one', async () => {
  const instance = await newInstance();
  const observe = (of: InstanceHandle, second: number) =>
    of.process({
      mode_target: 'STRESS_RESPONSE',
      signal_strength: 0.9,
      timestamp: `2026-01-15T12:00:0${second}.000Z`,
    });
  const answers = [await observe(instance, 1), await observe(instance, 3)];
  const { states } = (await instance.states({ cycles: [2, 1] })).data;
  assert.equal(states[1]?.contract, answers[0]?.data.contract);
  assert.equal(states[0]?.drift, answers[1]?.data.drift);
  assert.equal((await instance.states({ points: 1 })).data.states[0]?.cycle, 2);
  const { data } = await instance.fork({ name: 'another future', cycle: 1 });
  const { snapshot } = (await observe(client.instance(data.id), 3)).data;
  assert.equal({ ...snapshot, instance_id: instance.id }, answers[1]?.data.snapshot);
  const error = await rejection(client.instance(data.id).states({ cycles: [0] }), NotFoundError);
  assert.equal([error.status, error.reason], [410, 'cycle_trimmed']);
  assert.is(error.details?.first_cycle, 1);
});

real('a stream yields cycles, and ends when the instance is deleted', async () => {
  const instance = await newInstance();
  await instance.process({ mode_target: 'ORDER', signal_strength: 0.9 });
  const events: InstanceEvent[] = [];
  let end = '';
  try {
    for await (const event of instance.events({ after: 0 })) {
      events.push(event);
      if (event.type === 'cycle') await client.instances.delete(instance.id);
    }
    end = events.at(-1)?.type ?? '';
  } catch (error) {
    // A second after the creation of a key, the service ends the streams of its account once. The
    // stream may then reconnect to a deleted instance.
    if (!(error instanceof NotFoundError)) throw error;
    end = 'deleted';
  }
  const types = events.map(({ type }) => type);
  assert.equal([types.includes('state'), end], [true, 'deleted']);
  const cycle = events.find((event) => event.type === 'cycle');
  assert.equal([cycle?.id, cycle?.data.observation.mode_target], ['1', 'ORDER']);
});

real('personas, the test, the account and the audit trail are readable', async () => {
  const personas = await client.personas.list();
  assert.is(personas.data.length, 12);
  const persona = await client.personas.get(personas.data[0]?.id ?? '');
  assert.ok(persona.data.stress_recovery.half_life_minutes > 0);
  const { questions } = (await client.tests.questions()).data;
  const answers = questions.map(({ id }) => ({ question_id: id, value: 4 }));
  const scored = await client.tests.submit(answers as never);
  assert.is(scored.data.nearest_personas.length, 3);
  assert.is((await client.account.get()).data.plan.name, 'enterprise');
  await client.instances.create({ name: 'of the trail' });
  const actions: string[] = [];
  for await (const { action } of client.audit.iterate({ limit: 2 })) actions.push(action);
  assert.ok(actions.includes('instance.create'));
});

real('a simulation changes nothing', async () => {
  const instance = await newInstance();
  const observation = { mode_target: 'ORDER', signal_strength: 0.9 } as const;
  const { data } = await instance.simulate([observation, observation]);
  assert.is(data.processed_count, 2);
  assert.is((await instance.snapshot()).data.cycle, 0);
});

real('a buffer delivers the observations of a fleet, in order per instance', async () => {
  const instances = await Promise.all(Array.from({ length: 20 }, () => newInstance()));
  const buffer = new ObservationBuffer(client, { delayMaxMs: 5 });
  for (let turn = 0; turn < 150; turn += 1) {
    for (const { id } of instances) {
      await buffer.add(id, { mode_target: 'ORDER', signal_strength: 0.5, context: { turn } });
    }
  }
  await buffer.add('inst_0000000000000000', { mode_target: 'ORDER', signal_strength: 0.5 });
  const bad = { mode_target: 'ORDER', signal_strength: 2 } as const;
  await buffer.add(instances[0]?.id ?? '', bad);
  await buffer.flush();
  const { acknowledged, rejected, unacknowledged } = await buffer.close();
  assert.equal([acknowledged, unacknowledged], [3_000, []]);
  assert.equal(rejected.map(({ error }) => error.code).toSorted(), [
    'invalid_request',
    'not_found',
  ]);
  for (const instance of instances) {
    const turns: unknown[] = [];
    for await (const { context } of instance.iterateHistory()) turns.unshift(context['turn']);
    assert.equal(
      turns,
      Array.from({ length: 150 }, (_, turn) => turn),
    );
  }
});

// Report 5: deleting 250 instances during an iteration left 100 instances.
real('an iteration yields each row once, despite concurrent changes', async () => {
  const made = await Promise.all(
    Array.from({ length: 45 }, (_, number) =>
      client.instances.create({ name: `moving ${number}` }),
    ),
  );
  const seen: string[] = [];
  const rows = client.instances.iterate({ search: 'moving', limit: 10, sort: 'name' });
  for await (const { id, name } of rows) {
    if (name.startsWith('moving aside')) continue;
    seen.push(id);
    if (seen.length % 3 === 0) await client.instances.delete(id);
    if (seen.length % 3 === 1) await client.instances.update(id, { name: `moving aside ${id}` });
    if (seen.length % 3 === 2) await client.instances.create({ name: 'moving aside, new' });
  }
  assert.equal(seen.toSorted(), made.map(({ data }) => data.id).toSorted());
});

// Report 2: after a crash, 50 of 80 repeated log observations were applied twice.
real('a log that is sent again after a crash is applied once', async () => {
  const instance = await newInstance();
  const startMs = Date.now() - 3_600_000;
  const send = async (count: number) => {
    const buffer = new ObservationBuffer(client, { delayMaxMs: 0 });
    for (let line = 0; line < count; line += 1) {
      await buffer.add(instance.id, {
        ...{ mode_target: 'ORDER', signal_strength: 0.5, idempotency_key: `line ${line}` },
        timestamp: new Date(startMs + line * 1_000).toISOString(),
      });
    }
    return await buffer.close();
  };
  assert.is((await send(50)).acknowledged, 50);
  const again = await send(80);
  assert.equal([again.acknowledged, again.replayed, again.throttledCount], [80, 50, 0]);
  assert.is((await instance.snapshot()).data.cycle, 80);
  const last = { timestamp: new Date(startMs + 79_000).toISOString() };
  const single = await instance.process(
    { mode_target: 'ORDER', signal_strength: 0.5, ...last },
    { idempotencyKey: 'line 79' },
  );
  assert.equal([single.isReplayed, (await instance.snapshot()).data.cycle], [true, 80]);
});

// Report 2: a buffer wrote observation fields in another order than a call.
real(
  "a buffer gets the replay of a call's observation, even with fields in another order",
  async () => {
    const instance = await newInstance();
    const timestamp = new Date(Date.now() - 60_000).toISOString();
    const context = { b: 1, a: [{ d: 2, c: 3 }] };
    const observation = { signal_strength: 0.5, timestamp, mode_target: 'ORDER', context } as const;
    await instance.process(observation, { idempotencyKey: 'k' });
    const buffer = new ObservationBuffer(client, { delayMaxMs: 0 });
    await buffer.add(instance.id, { idempotency_key: 'k', ...observation });
    const { acknowledged, replayed } = await buffer.close();
    assert.equal([acknowledged, replayed], [1, 1]);
  },
);

// Report 2: a buffer moved explicit timestamps that the service throttled.
real('a buffer reports observations whose timestamps are too early as throttled', async () => {
  const instance = await newInstance();
  const at = (ms: number) => new Date(ms).toISOString();
  const nowMs = Date.now();
  await instance.process({ mode_target: 'ORDER', signal_strength: 0.5, timestamp: at(nowMs) });
  const buffer = new ObservationBuffer(client);
  for (const timestamp of [at(nowMs - 60_000), at(nowMs + 500), at(nowMs + 1_000)]) {
    await buffer.add(instance.id, { mode_target: 'ORDER', signal_strength: 0.5, timestamp });
  }
  const { acknowledged, throttled } = await buffer.close();
  assert.is(acknowledged, 1);
  assert.equal(
    throttled.map(({ observation }) => observation.timestamp),
    [at(nowMs - 60_000), at(nowMs + 500)],
  );
});

real('an unknown key, and a create with a read-only key, are refused', async () => {
  const baseUrl = service.api;
  const none = new IdentityEngine({ apiKey: 'svc_sk_none', baseUrl });
  await rejection(none.account.get(), UnauthorizedError);
  const { key: readOnly } = await newCaller(service, { scope: 'read' });
  const reader = new IdentityEngine({ apiKey: readOnly, baseUrl });
  const error = await rejection(reader.instances.create({ name: 'Ada' }), ForbiddenError);
  assert.is(error.reason, 'read_only_key');
});

real.run();
