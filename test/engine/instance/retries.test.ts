import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { EngineCall } from '#grpc/engine-messages';
import {
  bodyOf,
  CREATE,
  createdInstance,
  instancesUnderTest,
  observed,
  START_MS,
} from '#test/engine/instance/instance-fixture';

const DAY_MS = 24 * 60 * 60 * 1_000;

/** Fields of a keyed call: call id as derived by the edge, key, and request fingerprint. */
function keyed(key: string, fingerprint = 'f'): Pick<EngineCall, 'callId' | 'idempotency'> {
  const callId = 1 + [...key].reduce((id, letter) => (id * 31 + letter.charCodeAt(0)) % 2 ** 40, 7);
  return { callId, idempotency: { key, fingerprint } };
}

/** A UUIDv7 with the given time. */
function uuidV7(madeAtMs: number): string {
  const hex = madeAtMs.toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7abc-8def-0123456789ab`;
}

const again = suite('when a call without a key is repeated');

again('the call is executed once and gets the same answer twice', async () => {
  const { ask, read, jump } = instancesUnderTest();
  const commands = [
    CREATE,
    observed(),
    observed({}, {}),
    { kind: 'rename', name: 'Grace', description: undefined },
    { kind: 'reset', mode: 'initial' },
  ] as const;
  for (const [index, command] of commands.entries()) {
    const call = { callId: 1_000 + index };
    const first = await ask(command, call);
    jump(5_000);
    assert.equal(await ask(command, call), first, command.kind);
  }
  assert.is((await read({ kind: 'readInstance' })).data.name, 'Grace');
  await ask({ kind: 'remove' }, { callId: 2_000 });
  assert.ok(bodyOf(await ask({ kind: 'remove' }, { callId: 2_000 })).data.deleted);
});

again('the outcome is unknown if later calls changed the instance', async () => {
  const { ask, refusal, read, jump } = await createdInstance();
  await ask(observed(), { callId: 77 });
  jump(2_000);
  await ask(observed());
  const fault = await refusal(observed(), { callId: 77 });
  assert.equal([fault.code, fault.reason], ['service_unavailable', 'outcome_unknown']);
  assert.ok(fault.isOutcomeUnknown, 'otherwise the edge would refund the cycles');
  assert.is((await read({ kind: 'readInstance' })).data.cycle_count, 2);
});

again('a repeated batch never gets fewer intermediate states', async () => {
  const { ask, refusal, jump } = await createdInstance();
  const one = { ...observed(), isBatch: true, isEveryStateWanted: true };
  const answer = await ask(one, { callId: 78 });
  assert.equal(await ask(one, { callId: 78 }), answer);
  jump(5_000);
  const two = { ...observed({}, {}), isEveryStateWanted: true };
  await ask(two, { callId: 79 });
  assert.is((await refusal(two, { callId: 79 })).reason, 'outcome_unknown');
});

again('the listing is notified again before the second answer', async () => {
  const { ask, listings } = instancesUnderTest();
  await ask(CREATE, { callId: 5 });
  const puts: number[] = [];
  const { put } = listings;
  Object.assign(listings, {
    put: async (account: string, row: Parameters<typeof put>[1]) => {
      puts.push(row.version);
      await put(account, row);
    },
  });
  await ask(CREATE, { callId: 5 });
  assert.equal(puts, [1]);
});

again('a throttled or refused call is executed again', async () => {
  const { ask, refusal, jump } = instancesUnderTest();
  await refusal(observed(), { callId: 9 });
  await ask(CREATE);
  await ask(observed());
  assert.is((await ask(observed(), { callId: 9 })).throttledRetryAfterS, 1);
  jump(1_000);
  assert.is((await ask(observed(), { callId: 9 })).cycles, 1);
});

const stored = suite('when a call with a key is repeated');

stored('the second answer equals the first, is marked as replayed, and adds no cycle', async () => {
  const { ask, read, jump } = instancesUnderTest();
  await ask(CREATE, keyed('c'));
  const first = await ask(observed(), keyed('k'));
  jump(5_000);
  await ask(observed());
  const second = await ask(observed(), keyed('k'));
  assert.equal(second, { ...first, cycles: 0, isReplayed: true });
  assert.is((await read({ kind: 'readInstance' })).data.cycle_count, 2);
});

stored('the answer is the same from memory, from the store, and after an eviction', async () => {
  const scene = instancesUnderTest();
  const { ask, evict, flush } = scene;
  const created = await ask(CREATE, keyed('c'));
  const requested = { ...observed({}, {}), isEveryStateWanted: true };
  const first = await ask(requested, keyed('k'));
  for (const prepare of [async () => undefined, flush, evict, evict]) {
    await prepare();
    assert.equal((await ask(requested, keyed('k'))).body, first.body);
    assert.equal(await ask(CREATE, keyed('c')), { ...created, isReplayed: true });
  }
  assert.is((await scene.read({ kind: 'readInstance' })).data.cycle_count, 2);
});

stored(
  'the answer is replayed for 24 h, and the call executed again a millisecond later',
  async () => {
    for (const isEvicted of [false, true]) {
      const { ask, clock, evict, flush } = await createdInstance();
      await ask(observed(), keyed('k'));
      const observedAtMs = clock.monotonicMs();
      await (isEvicted ? evict() : flush());
      clock.stepWall(DAY_MS - (clock.monotonicMs() - observedAtMs));
      assert.ok((await ask(observed(), keyed('k'))).isReplayed);
      clock.stepWall(1);
      const repeated = await ask(observed(), keyed('k'));
      assert.equal([repeated.isReplayed, repeated.cycles], [false, 1]);
      assert.ok((await ask(observed(), keyed('k'))).isReplayed);
    }
  },
);

stored('a different body is refused, whether memory or the store has the answer', async () => {
  const { ask, refusal, evict } = instancesUnderTest();
  await ask(CREATE, keyed('c'));
  await ask(observed(), keyed('k'));
  for (const prepare of [async () => undefined, evict]) {
    await prepare();
    const fault = await refusal(observed(), keyed('k', 'g'));
    assert.equal([fault.code, fault.reason], ['invalid_request', 'idempotency_key_reused']);
    assert.is((await refusal(CREATE, keyed('c', 'g'))).reason, 'idempotency_key_reused');
  }
});

stored('the keys of a create and of a later call are independent', async () => {
  const { ask, jump } = instancesUnderTest();
  await ask(CREATE, keyed('k'));
  jump(1_000);
  assert.is((await ask(observed(), { ...keyed('k'), callId: 4 })).cycles, 1);
  assert.ok((await ask(CREATE, keyed('k'))).isReplayed);
});

stored('a throttled answer is not stored', async () => {
  const { ask, jump } = await createdInstance();
  await ask(observed());
  assert.is((await ask(observed(), keyed('k'))).throttledRetryAfterS, 1);
  jump(1_000);
  assert.is((await ask(observed(), keyed('k'))).cycles, 1);
});

stored('an answer with a fresh key is found even after an eviction', async () => {
  const { ask, clock, pass, read } = await createdInstance();
  await pass(19_500);
  const key = uuidV7(clock.wallMs());
  const first = await ask(observed(), keyed(key));
  await pass(2_000);
  const second = await ask(observed(), keyed(key));
  assert.equal([second.isReplayed, second.body], [true, first.body]);
  assert.is((await read({ kind: 'readInstance' })).data.cycle_count, 1);
});

const quota = suite('when a call may only be replayed');

quota('the stored answer is returned', async () => {
  const { ask, evict } = await createdInstance();
  const first = await ask(observed(), keyed('k'));
  await evict();
  const second = await ask(observed(), { ...keyed('k'), isReplayOnly: true });
  assert.equal([second.body, second.isReplayed], [first.body, true]);
});

quota('without a stored answer the error is quota_exceeded, and nothing changes', async () => {
  const { refusal, read } = await createdInstance();
  const fault = await refusal(observed(), { ...keyed('k'), isReplayOnly: true });
  assert.is(fault.code, 'quota_exceeded');
  assert.is((await read({ kind: 'readInstance' })).data.cycle_count, 0);
});

const deleted = suite('when the instance of a keyed create was deleted');

deleted('the repeated create is a conflict for 24 h, wherever the answer was stored', async () => {
  for (const isFlushed of [false, true]) {
    for (const isEvicted of [false, true]) {
      const { ask, refusal, flush, evict } = instancesUnderTest();
      await ask(CREATE, keyed('c'));
      if (isFlushed) await flush();
      await ask({ kind: 'remove' });
      if (isEvicted) await evict();
      const fault = await refusal(CREATE, keyed('c'));
      assert.equal([fault.code, fault.reason], ['conflict', 'deleted']);
    }
  }
});

deleted(
  'after 24 h the old id is still in use, and a create with another id succeeds',
  async () => {
    const { ask, refusal, clock } = instancesUnderTest();
    await ask(CREATE, keyed('c'));
    await ask({ kind: 'remove' });
    clock.stepWall(DAY_MS - 1);
    assert.is((await refusal(CREATE, keyed('c'))).reason, 'deleted');
    clock.stepWall(1);
    assert.is((await refusal(CREATE, keyed('c'))).reason, 'already_exists');
    const instanceId = 'inst_00000000000000bb';
    const repeated = await ask(CREATE, { ...keyed('c'), instanceId });
    assert.equal([bodyOf(repeated).data.id, repeated.isReplayed], [instanceId, false]);
  },
);

const early = suite('when a keyed create is repeated after 24 h and its instance exists');

early('the create is refused, because the id is in use', async () => {
  const { ask, refusal, clock, evict } = instancesUnderTest();
  await ask(CREATE, keyed('c'));
  await evict();
  clock.stepWall(START_MS + DAY_MS + 1 - clock.wallMs());
  assert.is((await refusal(CREATE, keyed('c'))).reason, 'already_exists');
});

for (const group of [again, stored, quota, deleted, early]) group.run();
