import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { toFault } from '#errors/fault';
import type { EngineAnswer, EngineCall, EngineCommand } from '#grpc/engine-messages';
import { memoryInstanceStore } from '#storage/memory/instances';
import type { HeldHead, InstanceStore } from '#storage/ports/instances';
import {
  CREATE,
  chunksOfRows,
  instancesUnderTest,
  observed,
  type Replaced,
  START_MS,
  seen,
} from '#test/engine/instance/instance-fixture';

/** A command for an instance, and whether its actor is stored or evicted afterwards. */
type Step = {
  readonly command: EngineCommand;
  readonly key: string | undefined;
  readonly afterwards: 'nothing' | 'flush' | 'evict';
};

/** Time between two steps, long enough for a checkpoint and an eviction. */
const STEP_MS = 100_000;

/** Creation of an identity with an anchored home: a few pushes cause drift and rollbacks. */
const ANCHORED = { ...CREATE, modeStrengths: [0.1, 0.1, 0.8, 0.1, 0.1, 0.6, 0.1] };

const page = {
  limit: fc.integer({ min: 1, max: 12 }),
  offset: fc.integer({ min: 0, max: 12 }),
  isEveryGeneration: fc.boolean(),
};
const observation = fc.record({
  mode: fc.integer({ min: 0, max: 6 }),
  signal: fc.constantFrom(0, 0.3, 0.7, 1),
  confidence: fc.constantFrom(0, 0.5, 1),
});
const command: fc.Arbitrary<EngineCommand> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('process' as const),
      observations: fc
        .array(observation, { minLength: 1, maxLength: 12 })
        .map((all) => all.map((one) => seen(one))),
      isBatch: fc.constant(true),
      isEveryStateWanted: fc.boolean(),
    }),
  },
  { weight: 2, arbitrary: observation.map((one) => observed(one)) },
  { weight: 1, arbitrary: fc.constant<EngineCommand>(ANCHORED) },
  {
    weight: 1,
    arbitrary: fc.constantFrom<EngineCommand>(
      { kind: 'readInstance' },
      { kind: 'readSnapshot' },
      { kind: 'readContract' },
      { kind: 'rename', name: 'Grace', description: undefined },
      { kind: 'rename', name: undefined, description: 'another' },
      { kind: 'reset', mode: 'initial' },
      { kind: 'reset', mode: 'default' },
    ),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('simulate' as const),
      observations: fc
        .array(observation, { minLength: 1, maxLength: 20 })
        .map((all) => all.map((one) => seen(one))),
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('readHistory' as const), ...page }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('readDrift' as const),
      ...page,
      isPaged: fc.boolean(),
    }),
  },
);
const step: fc.Arbitrary<Step> = fc.record({
  command: fc.oneof(
    { weight: 20, arbitrary: command },
    { weight: 1, arbitrary: fc.constant<EngineCommand>({ kind: 'remove' }) },
  ),
  key: fc.option(fc.constantFrom('a', 'b', 'c'), { nil: undefined }),
  afterwards: fc.constantFrom('nothing' as const, 'flush' as const, 'evict' as const),
});
/** Chunk bounds from a single row up to the default. */
const bounds = fc
  .tuple(fc.integer({ min: 1, max: 32 }), fc.integer({ min: 1, max: 8 }))
  .map(([history, drift]) => chunksOfRows(history, drift));
const day = fc.array(step, { minLength: 1, maxLength: 25 });

const property = suite('after any commands to an instance');

property('evictions and reloads change no byte of any answer', async () => {
  await fc.assert(
    fc.asyncProperty(day, bounds, async (steps, chunkBounds) => {
      const kept = await answersOf(steps.map((one) => ({ ...one, afterwards: 'nothing' })));
      assert.equal(await answersOf(steps, { chunkBounds }), kept);
    }),
    { numRuns: 60 },
  );
});

property('no head is changed after it was stored', async () => {
  await fc.assert(
    fc.asyncProperty(day, async (steps) => {
      const { store, assertUnchanged } = watchedStore();
      await answersOf(steps, { store });
      assertUnchanged();
    }),
    { numRuns: 60 },
  );
});

/** Returns the answers or errors of all steps. The clock shows the same times in every run. */
async function answersOf(steps: readonly Step[], replaced: Replaced = {}): Promise<unknown[]> {
  const scene = instancesUnderTest(replaced);
  const { ask, clock, flush, evict, bugs } = scene;
  const answers: unknown[] = [await outcomeOf(() => ask(ANCHORED))];
  for (const [index, { command, key, afterwards }] of steps.entries()) {
    clock.advance(START_MS + (index + 1) * STEP_MS - clock.wallMs());
    answers.push(await outcomeOf(() => ask(command, fieldsOf(index, command, key))));
    if (afterwards === 'flush') await flush();
    if (afterwards === 'evict') await evict();
  }
  assert.equal(bugs, []);
  return answers;
}

/**
 * Fields as set by the edge: only writes have keys, and each key belongs to a single kind of
 * command.
 */
function fieldsOf(
  index: number,
  { kind }: EngineCommand,
  key: string | undefined,
): Partial<EngineCall> {
  const callId = 1_000 + index;
  const isKeyed = kind === 'process' || kind === 'reset' || kind === 'create';
  if (key === undefined || !isKeyed) return { callId };
  return { callId, idempotency: { key: `${kind} ${key}`, fingerprint: kind } };
}

async function outcomeOf(ask: () => Promise<EngineAnswer>): Promise<unknown> {
  try {
    return await ask();
  } catch (error) {
    const { code, reason, message } = toFault(error);
    return { code, reason, message };
  }
}

/** A store that copies every head at the time of storing. */
function watchedStore() {
  const store = memoryInstanceStore();
  const heads: { given: HeldHead; copy: HeldHead }[] = [];
  const watched: InstanceStore = {
    ...store,
    async checkpoint(checkpoints) {
      for (const { head } of checkpoints) {
        heads.push({ given: head, copy: structuredClone(head) });
      }
      await store.checkpoint(checkpoints);
    },
  };
  const assertUnchanged = () => {
    for (const { given, copy } of heads) assert.equal(given, copy);
  };
  return { store: watched, assertUnchanged };
}

property.run();
