import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { etagOf } from '#engine/instance/keyed-answers';
import { memoryListingStore } from '#storage/memory/instances';
import {
  bodyOf,
  CREATE,
  chunksOfRows,
  createdInstance,
  INSTANCE_ID,
  instancesUnderTest,
  observed,
  START_MS,
} from '#test/engine/instance/instance-fixture';
import { stateOf, turnOfEvents } from '#test/support/settled';
import { SlowJournal } from '#test/support/tally-actor';

const iso = (timeMs: number) => new Date(timeMs).toISOString();

const created = suite('when an instance is created');

created(
  'the answer has the texts and times of the instance, and the tag of version 1',
  async () => {
    const { ask } = instancesUnderTest();
    const answer = await ask(CREATE);
    assert.equal(bodyOf(answer).data, {
      id: INSTANCE_ID,
      name: 'Ada',
      description: 'first of her name',
      tags: {},
      created_at: iso(START_MS),
      updated_at: iso(START_MS),
    });
    assert.is(answer.etag, etagOf(INSTANCE_ID, 1));
    assert.is(answer.cycles, 0);
  },
);

created('the listing has the row of the instance before the answer is sent', async () => {
  const listings = memoryListingStore();
  const written = Promise.withResolvers<void>();
  const slow = { ...listings, put: () => written.promise };
  const { ask } = instancesUnderTest({ listings: slow });
  const answer = ask(CREATE);
  assert.is(await stateOf(answer), 'pending');
  written.resolve();
  assert.is(bodyOf(await answer).data.id, INSTANCE_ID);
});

created('the listing row is written only after the journal has the record', async () => {
  const journal = new SlowJournal();
  const { ask, listings } = instancesUnderTest({ journal });
  const answer = ask(CREATE);
  await turnOfEvents();
  assert.equal(await listings.load('Acc0unt00001'), []);
  await journal.succeed();
  await answer;
  assert.is((await listings.load('Acc0unt00001')).length, 1);
});

created('a second create with the same id is a conflict, for every account', async () => {
  const { refusal } = await createdInstance();
  assert.is((await refusal(CREATE)).reason, 'already_exists');
  assert.is((await refusal(CREATE, { accountId: 'Acc0unt00002' })).reason, 'already_exists');
});

const foreign = suite('when an instance is missing or belongs to another account');

foreign('every command gets the same not-found error in both cases', async () => {
  const { read, refusal } = await createdInstance();
  const page = { limit: 1, offset: 0, isEveryGeneration: false } as const;
  const commands = [
    { kind: 'readInstance' },
    { kind: 'readSnapshot' },
    { kind: 'readContract' },
    { kind: 'rename', name: 'x', description: undefined },
    { kind: 'remove' },
    { kind: 'reset', mode: 'initial' },
    { kind: 'readHistory', ...page },
    { kind: 'readDrift', ...page, isPaged: true },
    observed(),
  ] as const;
  const accountId = 'Acc0unt00002';
  for (const command of commands) {
    const theirs = await refusal(command, { accountId, ifMatch: '"other"' });
    const unknown = await refusal(command, { instanceId: 'inst_ffffffffffffffff' });
    assert.is(theirs.code, 'not_found');
    assert.equal([theirs.message, theirs.reason], [unknown.message, unknown.reason]);
  }
  assert.is((await read({ kind: 'readInstance' })).data.name, 'Ada');
});

foreign('calls leave nothing in memory', async () => {
  const { host, refusal } = instancesUnderTest();
  for (const id of ['inst_0000000000000001', 'inst_0000000000000002']) {
    await refusal({ kind: 'readInstance' }, { instanceId: id });
  }
  await turnOfEvents();
  assert.equal(host.residency, { actors: 0, bytes: 0, unflushedRecords: 0, unflushedBytes: 0 });
});

const renamed = suite('when an instance is renamed');

renamed('only the given fields change, and the model state does not', async () => {
  const { ask, jump, read } = await createdInstance();
  await ask(observed());
  const before = await read({ kind: 'readSnapshot' });
  jump(5_000);
  const answer = await ask({ kind: 'rename', name: 'Grace', description: undefined });
  assert.equal(bodyOf(answer).data, {
    id: INSTANCE_ID,
    name: 'Grace',
    description: 'first of her name',
    tags: {},
    updated_at: iso(START_MS + 5_000),
  });
  assert.is(answer.etag, etagOf(INSTANCE_ID, 3));
  const after = await read({ kind: 'readSnapshot' });
  assert.equal({ ...after.data, updated_at: before.data.updated_at }, before.data);
});

renamed('the listing has the new row before the answer is sent', async () => {
  const { ask, listings } = await createdInstance();
  await ask({ kind: 'rename', name: undefined, description: 'x' });
  const [row] = await listings.load('Acc0unt00001');
  assert.equal([row?.name, row?.description, row?.version], ['Ada', 'x', 2]);
});

const matched = suite('when a call has an If-Match');

matched('a tag of another version is a conflict, and nothing changes', async () => {
  const { ask, read, refusal } = instancesUnderTest();
  const { etag } = await ask(CREATE);
  await ask({ kind: 'rename', name: 'Grace', description: undefined }, { ifMatch: etag });
  const commands = [
    { kind: 'rename', name: 'Alan', description: undefined },
    { kind: 'remove' },
    { kind: 'reset', mode: 'initial' },
  ] as const;
  for (const command of commands) {
    const fault = await refusal(command, { ifMatch: etag });
    assert.equal([fault.code, fault.reason], ['conflict', 'version_mismatch']);
  }
  const { data } = await read({ kind: 'readInstance' });
  assert.equal([data.name, data.cycle_count], ['Grace', 0]);
});

matched('the present tag and * are accepted, and process ignores the header', async () => {
  const { ask } = await createdInstance();
  const reset = await ask({ kind: 'reset', mode: 'initial' }, { ifMatch: '*' });
  await ask(observed(), { ifMatch: '"snap_0000000000000000"' });
  const { etag } = await ask({ kind: 'readInstance' });
  assert.not.equal(etag, reset.etag);
  await ask({ kind: 'remove' }, { ifMatch: `"x", ${etag}` });
});

const removed = suite('when an instance is deleted');

removed('the texts in the head, the rows and the listing entry are deleted', async () => {
  const scene = await createdInstance({ chunkBounds: chunksOfRows(1) });
  const { ask, refusal, flush, store, storedRows, listings } = scene;
  await ask(observed({ contextJson: '{"secret":1}' }, { contextJson: '{"secret":2}' }));
  await flush();
  assert.is((await storedRows()).length, 2);
  assert.is((await store.readHistory(INSTANCE_ID, 9, 9)).length, 1);
  assert.match((await store.readHead(INSTANCE_ID))?.newestHistory.rows ?? '', /secret/);
  assert.equal(bodyOf(await ask({ kind: 'remove' })).data, { id: INSTANCE_ID, deleted: true });
  assert.equal(await listings.load('Acc0unt00001'), []);
  assert.is((await refusal({ kind: 'readInstance' })).code, 'not_found');
  await flush();
  const head = await store.readHead(INSTANCE_ID);
  assert.ok(head?.deletedAtMs !== undefined);
  assert.equal([head?.name, head?.description], ['', '']);
  assert.equal([head?.newestHistory.rows, head?.newestDrift.rows], ['', '']);
  assert.equal(await storedRows(), []);
});

removed('the instance stays deleted after an eviction', async () => {
  const { ask, refusal, evict } = await createdInstance();
  await ask({ kind: 'remove' });
  await evict();
  assert.is((await refusal(observed())).code, 'not_found');
  assert.is((await refusal({ kind: 'remove' })).code, 'not_found');
});

const processing = suite('when observations are processed');

processing('each observation is a cycle, and each call a version', async () => {
  const { ask, jump } = await createdInstance();
  const single = await ask(observed());
  assert.equal([single.cycles, single.etag], [1, etagOf(INSTANCE_ID, 2)]);
  jump(10_000);
  const batch = await ask(observed({}, {}, {}));
  assert.equal([batch.cycles, batch.etag], [3, etagOf(INSTANCE_ID, 3)]);
  const { data } = bodyOf(batch);
  assert.equal([data.processed_count, data.snapshot.cycle], [3, 4]);
});

processing('a batch with intermediate states gets a state per observation', async () => {
  const { ask } = await createdInstance();
  const requested = { ...observed({}, { mode: 4 }), isEveryStateWanted: true };
  const { data } = bodyOf(await ask(requested));
  assert.equal(
    data.states.map((state: { snapshot: { cycle: number } }) => state.snapshot.cycle),
    [1, 2],
  );
  assert.is(data.processed_count, 2);
});

processing('an early observation changes nothing and gets a waiting time', async () => {
  const { ask, jump, clock } = await createdInstance();
  const first = await ask(observed());
  jump(400);
  for (const command of [observed(), observed({ timestampMs: clock.wallMs() })]) {
    const early = await ask(command);
    assert.equal([early.throttledRetryAfterS, early.cycles], [1, 0]);
    assert.equal([early.body, early.etag], [first.body, first.etag]);
  }
  jump(600);
  assert.is((await ask(observed())).cycles, 1);
});

processing('an early batch is throttled as a whole', async () => {
  const { ask } = await createdInstance();
  await ask(observed());
  const plain = await ask(observed({}, {}));
  const { data } = bodyOf(plain);
  assert.equal([plain.cycles, data.processed_count, data.snapshot.cycle], [0, 0, 1]);
  const requested = { ...observed({}, {}), isEveryStateWanted: true };
  assert.equal(bodyOf(await ask(requested)).data, { states: [], processed_count: 0 });
});

const reset = suite('when an instance is reset');

reset('the instance has cycle 0, no minimum interval, and accepts any time', async () => {
  const { ask, jump } = instancesUnderTest();
  await ask({ ...CREATE, energyLevel: 0.6 });
  await ask(observed());
  jump(200);
  const answer = await ask({ kind: 'reset', mode: 'initial' });
  const expected = { reset_to: 'initial', cycle: 0, energy_level: 0.6, stress_state: 'LOW' };
  assert.equal(bodyOf(answer).data, { id: INSTANCE_ID, ...expected });
  const next = await ask(observed({ timestampMs: START_MS - 86_400_000 }));
  assert.equal([next.throttledRetryAfterS, bodyOf(next).data.snapshot.cycle], [0, 1]);
});

reset('the same observations lead to the same states again', async () => {
  const { ask, jump } = await createdInstance();
  const day = async () => {
    const bodies: unknown[] = [];
    for (let step = 0; step < 20; step += 1) {
      jump(2_000);
      bodies.push((await ask(observed({ mode: step % 7, signal: (step % 5) / 4 }))).body);
    }
    return bodies;
  };
  const first = await day();
  await ask({ kind: 'reset', mode: 'initial' });
  assert.equal(await day(), first);
});

for (const group of [created, foreign, renamed, matched, removed, processing, reset]) group.run();
