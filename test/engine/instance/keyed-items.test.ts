import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { ONE_SHARD } from '#actor-runtime/actor-host';
import type {
  EngineAnswer,
  EngineCall,
  EngineCommand,
  ObservationInput,
} from '#grpc/engine-messages';
import { memoryInstanceStore } from '#storage/memory/instances';
import type { Journal } from '#storage/ports/journal';
import {
  bodyOf,
  CREATE,
  createdInstance,
  instancesUnderTest,
  observed,
  START_MS,
  seen,
} from '#test/engine/instance/instance-fixture';

type Process = Extract<EngineCommand, { kind: 'process' }>;

/** An observation `second` seconds after `START_MS`. */
const at = (second: number, fields: Partial<ObservationInput> = {}) =>
  seen({ timestampMs: START_MS + second * 1_000, ...fields });

/**
 * A batch whose items have the given keys. An item has the same fingerprint as a single call with
 * the same key.
 */
function batch(
  keys: readonly (string | undefined)[],
  observations: readonly ObservationInput[] = keys.map((_, index) => at(index)),
): Process {
  const itemKeys = keys.map((key) => (key === undefined ? undefined : ofSingle(key)));
  return { kind: 'process', observations, isBatch: true, isEveryStateWanted: false, itemKeys };
}

const ofSingle = (key: string) => ({ key, fingerprint: `a single call with ${key}` });
const single = (key: string): Pick<EngineCall, 'idempotency'> => ({ idempotency: ofSingle(key) });

/**
 * A fresh key (UUIDv7 with the time `START_MS`), which a single call looks up only if necessary.
 */
const YOUNG = `${START_MS.toString(16).padStart(12, '0').slice(0, 8)}-${START_MS.toString(16)
  .padStart(12, '0')
  .slice(8)}-7abc-8def-0123456789ab`;

const statusesOf = (answer: EngineAnswer): string[] =>
  bodyOf(answer).data.results.map(({ status }: { status: string }) => status);
const cycleOf = (answer: EngineAnswer): number => bodyOf(answer).data.snapshot.cycle;

const again = suite('when a batch repeats items');

// Report 2: observations that were sent again from a log after a crash were counted twice.
again('the repeated items are reported as replayed, and only new items are applied', async () => {
  const { ask } = await createdInstance();
  const first = await ask(batch(['a', 'b', 'c']));
  assert.equal(statusesOf(first), ['applied', 'applied', 'applied']);
  assert.is(first.cycles, 3);
  const keys = ['a', 'b', 'c', 'd', 'e'];
  const second = await ask(batch(keys));
  assert.equal(statusesOf(second), ['replayed', 'replayed', 'replayed', 'applied', 'applied']);
  assert.equal([second.cycles, cycleOf(second), second.isReplayed], [2, 5, false]);
  const third = await ask(batch(keys));
  assert.equal(
    statusesOf(third),
    keys.map(() => 'replayed'),
  );
  assert.equal([third.cycles, cycleOf(third), third.isReplayed], [0, 5, true]);
  assert.is(bodyOf(third).data.processed_count, 0);
});

again('the answer has the states of the applied items', async () => {
  const { ask } = await createdInstance();
  await ask(batch(['a']));
  const { data } = bodyOf(await ask({ ...batch(['a', 'b', 'c']), isEveryStateWanted: true }));
  assert.is(data.states.length, 2);
  const none = bodyOf(await ask({ ...batch(['a', 'b', 'c']), isEveryStateWanted: true }));
  assert.equal([none.data.states, none.data.processed_count], [[], 0]);
});

again(
  'an item that is repeated within a batch is replayed, or refused if its content differs',
  async () => {
    const { ask, refusal } = await createdInstance();
    const twice = await ask(batch(['a', 'a', 'b'], [at(0), at(0), at(1)]));
    assert.equal(statusesOf(twice), ['applied', 'replayed', 'applied']);
    assert.is(twice.cycles, 2);
    const fault = await refusal(batch(['c', 'c'], [at(5), at(6)]));
    assert.equal(
      [fault.reason, fault.field],
      ['idempotency_key_reused', 'observations[1].idempotency_key'],
    );
  },
);

again('the whole batch is refused if an item reuses a key with different content', async () => {
  const { ask, refusal, read } = await createdInstance();
  await ask(batch(['a', 'b']));
  const changes = [{ mode: 3 }, { signal: 0.1 }, { confidence: 0.5 }, { contextJson: '{"a":1}' }];
  for (const change of [...changes, { timestampMs: START_MS + 7_000 }]) {
    const fault = await refusal(batch(['x', 'b'], [at(5), at(1, change)]));
    assert.equal(
      [fault.code, fault.reason, fault.field],
      ['invalid_request', 'idempotency_key_reused', 'observations[1].idempotency_key'],
    );
  }
  assert.is((await read({ kind: 'readInstance' })).data.cycle_count, 2);
});

again('an item that is repeated after 24 h is applied again', async () => {
  const { ask, jump } = await createdInstance();
  await ask(batch(['a']));
  jump(24 * 60 * 60 * 1_000 + 1);
  assert.equal(statusesOf(await ask(batch(['a'], [at(100_000)]))), ['applied']);
});

again('items without a key are always applied', async () => {
  const { ask } = await createdInstance();
  await ask(batch(['a']));
  const answer = await ask(batch(['a', undefined], [at(0), at(1)]));
  assert.equal(statusesOf(answer), ['replayed', 'applied']);
});

again('the keys of the items are found in the store after an eviction', async () => {
  const scene = await createdInstance();
  await scene.ask(batch(['a', 'b']));
  await scene.evict();
  const answer = await scene.ask(batch(['b', 'a', 'c'], [at(1), at(0), at(2)]));
  assert.equal(statusesOf(answer), ['replayed', 'replayed', 'applied']);
});

const rules = suite('the time rules for a batch with keys');

rules('do not apply to replayed items', async () => {
  const { ask } = await createdInstance();
  await ask(batch(['a', 'b'], [at(10), at(20)]));
  const answer = await ask(batch(['b', 'new', 'a'], [at(20), at(30), at(10)]));
  assert.equal(statusesOf(answer), ['replayed', 'applied', 'replayed']);
});

rules('apply to new items', async () => {
  const { ask, refusal } = await createdInstance();
  await ask(batch(['a']));
  const mixed = await refusal(batch(['a', 'b', 'c'], [at(0), at(5), seen()]));
  assert.equal([mixed.reason, mixed.field], ['timestamps_mixed', 'observations[2].timestamp']);
  const order = await refusal(batch(['b', 'a', 'c'], [at(6), at(0), at(5)]));
  assert.equal([order.reason, order.field], ['timestamp_order', 'observations[2].timestamp']);
});

rules('report early items as throttled', async () => {
  const { ask, read } = await createdInstance();
  await ask(batch(['a'], [at(10)]));
  const early = await ask(batch(['a', 'b', undefined], [at(10), at(5), at(7)]));
  assert.equal(statusesOf(early), ['replayed', 'throttled', 'throttled']);
  assert.equal([early.cycles, early.throttledRetryAfterS > 0], [0, true]);
  assert.is((await read({ kind: 'readInstance' })).data.cycle_count, 1);
});

const calls = suite('an idempotency key');

calls(
  'of an item is valid for a single call too: the answer is a replay with the present state',
  async () => {
    const { ask, refusal, jump } = await createdInstance();
    await ask(batch(['a', 'b']));
    jump(5_000);
    const answer = await ask({ ...observed(), observations: [at(0)] }, single('a'));
    assert.equal([answer.cycles, answer.isReplayed, cycleOf(answer)], [0, true, 2]);
    const other = { ...observed(), observations: [at(9)] };
    const fault = await refusal(other, single('a'));
    assert.equal([fault.reason, fault.field], ['idempotency_key_reused', 'Idempotency-Key']);
  },
);

calls('of a single call is valid for an item too: the item is reported as replayed', async () => {
  const { ask, refusal } = await createdInstance();
  await ask({ ...observed(), observations: [at(0)] }, single('a'));
  assert.equal(statusesOf(await ask(batch(['a', 'b']))), ['replayed', 'applied']);
  const command = batch(['a'], [at(9)]);
  const itemKeys = [{ key: 'a', fingerprint: 'another single call' }];
  assert.is((await refusal({ ...command, itemKeys })).reason, 'idempotency_key_reused');
});

calls('of an item cannot be used for a reset or a batch', async () => {
  const { ask, refusal } = await createdInstance();
  await ask(batch(['a']));
  for (const command of [{ kind: 'reset', mode: 'initial' }, batch(['x'])] as const) {
    assert.is((await refusal(command, single('a'))).reason, 'idempotency_key_reused');
  }
});

calls('that is fresh but already stored is looked up', async () => {
  const scene = await createdInstance();
  await scene.ask(batch([YOUNG]));
  // Stored and evicted while the key is still fresh.
  await scene.host.storeShard(0);
  scene.clock.advance(2_000);
  const answer = await scene.ask({ ...observed(), observations: [at(0)] }, single(YOUNG));
  assert.ok(answer.isReplayed);
});

calls('that is used for both the batch and an item is refused', async () => {
  const { refusal } = await createdInstance();
  const fault = await refusal(batch(['x', 'a']), single('a'));
  assert.equal(
    [fault.reason, fault.field],
    ['idempotency_key_reused', 'observations[1].idempotency_key'],
  );
});

const quota = suite('when the monthly quota is used up');

quota('a batch is answered only if all items are replayed', async () => {
  const { ask, refusal } = await createdInstance();
  await ask(batch(['a', 'b']));
  const fields = { isReplayOnly: true };
  assert.equal(statusesOf(await ask(batch(['a', 'b']), fields)), ['replayed', 'replayed']);
  assert.is((await refusal(batch(['a', 'b', 'c']), fields)).code, 'quota_exceeded');
});

const retried = suite('when a router repeats a batch with keys');

retried('the batch gets the same answer and is charged once', async () => {
  const { ask, read } = await createdInstance();
  await ask(batch(['a']));
  const fields = { callId: 4_711 };
  const first = await ask(batch(['a', 'b', undefined]), fields);
  const second = await ask(batch(['a', 'b', undefined]), fields);
  assert.equal(second, first);
  assert.equal([first.cycles, statusesOf(first)], [2, ['replayed', 'applied', 'applied']]);
  assert.is((await read({ kind: 'readInstance' })).data.cycle_count, 3);
});

/**
 * Fails an engine after a batch, with all or none of its work stored. Returns the answer to the
 * batch and the successor of the engine.
 */
async function afterTakeOver(isStored: boolean) {
  const store = memoryInstanceStore();
  const lines: string[] = [];
  const journal: Journal = {
    isLasting: true,
    isOnlyWriter: false,
    append: async (group) => void lines.push(...group),
  };
  const first = instancesUnderTest({ store, journal });
  await first.ask(CREATE, { callId: 99 });
  await first.ask(batch(['a', YOUNG]), { callId: 100 });
  const answer = await first.ask(batch([YOUNG, 'b'], [at(1), at(2)]), { callId: 101 });
  if (isStored) await first.host.storeShard(0);
  first.host.abandon();
  const tail = { lines, offset: 0 };
  const second = instancesUnderTest({ store, gate: { ...ONE_SHARD, tailOf: () => tail } });
  second.clock.advance(3_000);
  return { answer, second };
}

for (const isStored of [true, false]) {
  const takeOver = suite(`after a takeover with ${isStored ? 'all' : 'nothing'} stored`);

  takeOver('no item is applied twice, neither in a batch nor alone', async () => {
    const { second } = await afterTakeOver(isStored);
    const { ask, jump } = second;
    const answer = await ask(batch(['a', YOUNG, 'b', 'c']));
    assert.equal(statusesOf(answer), ['replayed', 'replayed', 'replayed', 'applied']);
    jump(2_000);
    const alone = await ask({ ...observed(), observations: [at(1)] }, single(YOUNG));
    assert.equal([alone.isReplayed, alone.cycles], [true, 0]);
  });

  takeOver('a single call looks its fresh key up', async () => {
    const { second } = await afterTakeOver(isStored);
    const alone = await second.ask({ ...observed(), observations: [at(1)] }, single(YOUNG));
    assert.equal([alone.isReplayed, alone.cycles], [true, 0]);
  });

  takeOver('a repeated call gets its first answer', async () => {
    const { second, answer } = await afterTakeOver(isStored);
    const repeated = await second.ask(batch([YOUNG, 'b'], [at(1), at(2)]), { callId: 101 });
    assert.equal(repeated, answer);
  });

  takeOver.run();
}

for (const group of [again, rules, calls, quota, retried]) group.run();
