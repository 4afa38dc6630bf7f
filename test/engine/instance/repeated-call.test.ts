import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { ONE_SHARD } from '#actor-runtime/actor-host';
import type { EngineCommand } from '#grpc/engine-messages';
import { memoryInstanceStore } from '#storage/memory/instances';
import type { Journal } from '#storage/ports/journal';
import { CREATE, instancesUnderTest, observed, seen } from '#test/engine/instance/instance-fixture';
import { turnOfEvents } from '#test/support/settled';

const EVERY_STATE: EngineCommand = {
  kind: 'process',
  observations: [seen(), seen({ mode: 4 }), seen({ mode: 6, signal: 1 })],
  isBatch: true,
  isEveryStateWanted: true,
};

/** Calls of different callers, 2 s apart. */
const CALLS: readonly EngineCommand[] = [
  observed(),
  EVERY_STATE,
  { kind: 'rename', name: 'Grace', description: undefined },
  observed({ mode: 1 }, { mode: 3 }),
  { kind: 'reset', mode: 'initial' },
  observed({ mode: 5 }),
];

/**
 * Fails an engine that has not stored its work since the last checkpoint. Returns the answers of
 * this engine and its successor.
 */
async function afterFailOver(isStoredBefore: boolean) {
  const store = memoryInstanceStore();
  const lines: string[] = [];
  const journal: Journal = {
    isLasting: true,
    isOnlyWriter: false,
    append: async (group) => void lines.push(...group),
  };
  const first = instancesUnderTest({ store, journal });
  await first.ask(CREATE, { callId: 99 });
  if (isStoredBefore) await first.host.storeShard(0);
  const answers = [];
  for (const [index, command] of CALLS.entries()) {
    first.jump(2_000);
    answers.push(await first.ask(command, { callId: 100 + index }));
  }
  first.host.abandon();
  const tail = { lines, offset: 0 };
  const second = instancesUnderTest({ store, gate: { ...ONE_SHARD, tailOf: () => tail } });
  second.jump(30_000);
  return { answers, second };
}

const moved = suite('a call without a key that is repeated after a fail-over');

for (const isStoredBefore of [false, true]) {
  const since = isStoredBefore ? 'with a stored state' : 'without a stored state';
  moved(`gets its first answer despite later calls, for an instance ${since}`, async () => {
    const { answers, second } = await afterFailOver(isStoredBefore);
    await second.ask(observed(), { callId: 200 });
    const before = await second.read({ kind: 'readInstance' });
    for (const [index, command] of CALLS.entries()) {
      const again = await second.ask(command, { callId: 100 + index });
      assert.equal(again, answers[index], command.kind);
    }
    assert.equal(await second.read({ kind: 'readInstance' }), before);
  });
}

moved(
  'is refused with outcome_unknown after its records are stored, and is not executed again',
  async () => {
    const { second } = await afterFailOver(true);
    await second.ask(observed(), { callId: 200 });
    await second.host.storeShard(0);
    const before = await second.read({ kind: 'readInstance' });
    const fault = await second.refusal(CALLS[0] ?? CREATE, { callId: 100 });
    assert.equal([fault.code, fault.reason], ['service_unavailable', 'outcome_unknown']);
    assert.ok(fault.isOutcomeUnknown);
    assert.equal(await second.read({ kind: 'readInstance' }), before);
    await turnOfEvents();
  },
);

moved.run();
