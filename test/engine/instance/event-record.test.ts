import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { InstanceChange, InstanceEvent } from '#engine/instance/event';
import { eventOfRecord, recordOfEvent } from '#engine/instance/sourcing';
import { MODEL_VERSION } from '#identity/state';
import { packedState } from '#storage/ports/instances';
import { SOURCING } from '#test/release/sample-instances';

const text = fc.string({ unit: 'grapheme' });
const tagsJson = fc.dictionary(text, text).map((tags) => JSON.stringify(tags));
const share = fc.double({ min: 0, max: 1, noNaN: true });
const timestampMs = fc.integer({ min: 0, max: 4e12 });
const contextJson = fc.oneof(fc.constant('{}'), fc.json());
const observation = fc.record({
  mode: fc.integer({ min: 0, max: 6 }),
  signal: share,
  confidence: share,
  timestampMs,
  contextJson,
});
const change: fc.Arbitrary<InstanceChange> = fc.oneof(
  fc.record({
    kind: fc.constant('created' as const),
    accountId: text,
    name: text,
    description: text,
    modeStrengths: fc.array(share, { minLength: 7, maxLength: 7 }),
    energyLevel: share,
  }),
  fc.record({
    kind: fc.constant('forked' as const),
    accountId: text,
    name: text,
    description: text,
    start: fc.record({
      parentId: text,
      generation: fc.integer({ min: 1, max: 99 }),
      cycle: fc.nat({ max: 1e9 }),
      originMs: timestampMs,
      observedAtMs: fc.option(timestampMs, { nil: undefined }),
      modelVersion: fc.constant(MODEL_VERSION),
      state: fc.float64Array({ minLength: 94, maxLength: 94 }).map((state) => packedState(state)),
    }),
  }),
  fc.record({
    kind: fc.constant('renamed' as const),
    name: fc.option(text, { nil: undefined }),
    description: fc.option(text, { nil: undefined }),
  }),
  fc.constant({ kind: 'removed' as const }),
  fc.record({
    kind: fc.constant('observed' as const),
    observations: fc.array(observation, { maxLength: 4 }),
    isBatch: fc.boolean(),
    isEveryStateWanted: fc.boolean(),
  }),
  fc.record({
    kind: fc.constant('observed' as const),
    observations: fc.array(observation, { maxLength: 4 }),
    isBatch: fc.constant(true),
    isEveryStateWanted: fc.boolean(),
    items: fc.record({
      keys: fc.array(fc.option(fc.record({ key: text, fingerprint: text }), { nil: undefined })),
      statuses: fc.array(fc.constantFrom('applied' as const, 'replayed' as const)),
    }),
  }),
  fc.record({
    kind: fc.constant('reset' as const),
    mode: fc.constantFrom('initial' as const, 'default' as const),
  }),
  fc.record({
    kind: fc.constant('trimmed' as const),
    floor: fc.record({
      history: fc.integer({ min: 1, max: 1e9 }),
      drift: fc.nat({ max: 1e9 }),
      generation: fc.integer({ min: 1, max: 99 }),
      cycle: fc.integer({ min: 1, max: 1e9 }),
      timestampMs,
      state: fc.option(
        fc.float64Array({ minLength: 94, maxLength: 94 }).map((state) => packedState(state)),
        { nil: undefined },
      ),
    }),
  }),
);
const taggedChange = fc.tuple(change, tagsJson).map(([given, tags]): InstanceChange => {
  const isTagged = given.kind === 'created' || given.kind === 'forked' || given.kind === 'renamed';
  return isTagged ? { ...given, tagsJson: tags } : given;
});
const event: fc.Arbitrary<InstanceEvent> = fc.record({
  modelVersion: fc.constant(MODEL_VERSION),
  change: fc.oneof(change, taggedChange),
  atMs: timestampMs,
  answerKey: fc.option(fc.record({ key: text, fingerprint: text }), { nil: undefined }),
});

/** An observation without context, the most common event. */
const PLAIN: InstanceEvent = {
  modelVersion: MODEL_VERSION,
  change: {
    kind: 'observed',
    observations: [
      { mode: 2, signal: 0.5, confidence: 1, timestampMs: 1_768_435_200_000, contextJson: '{}' },
    ],
    isBatch: false,
    isEveryStateWanted: false,
  },
  atMs: 1_768_435_200_123,
  answerKey: undefined,
};

const record = suite('the record of an event');

record('restores every event exactly, through JSON', () => {
  fc.assert(
    fc.property(event, (given) => {
      const json = JSON.stringify(recordOfEvent(given));
      assert.equal(eventOfRecord(JSON.parse(json)), structuredClone(given));
    }),
  );
});

record('has at most 100 characters for a single observation', () => {
  const { length } = JSON.stringify(recordOfEvent(PLAIN));
  assert.ok(length <= 100, `${length} characters`);
});

record('of tags is refused by release 1.0, and without tags is read by release 1.0', () => {
  const recordOf = (tags: object) => {
    const renamed = { kind: 'renamed', name: 'Bo', description: undefined, ...tags } as const;
    return (recordOfEvent({ ...PLAIN, change: renamed }) as unknown[]).slice(3);
  };
  assert.equal(recordOf({}), ['renamed', 'Bo', null]);
  assert.is(recordOf({ tagsJson: '{"team":"a"}' })[0], 'tagged');
});

record('has its tags in its estimated size', () => {
  const tagsJson = JSON.stringify({ team: 'x'.repeat(256) });
  const renamed = { kind: 'renamed', name: 'Bo', description: undefined } as const;
  const sizeOf = (one: InstanceChange) => SOURCING.sizeOfRecord({ ...PLAIN, change: one });
  assert.is(sizeOf({ ...renamed, tagsJson }) - sizeOf(renamed), tagsJson.length);
});

record('is refused if malformed', () => {
  const whole = recordOfEvent(PLAIN) as unknown[];
  for (const wrong of [
    undefined,
    {},
    [],
    whole.with(1, 'now'),
    whole.with(3, 'renounced'),
    whole.with(6, 'rows'),
    whole.with(6, [7]),
    whole.with(2, 'key'),
  ]) {
    assert.throws(() => eventOfRecord(wrong), /invalid event/);
  }
});

record("is refused with the model's name if it belongs to another model", () => {
  const other = (recordOfEvent(PLAIN) as unknown[]).with(0, 'm9');
  for (const record of [other, other.with(3, 'renounced'), other.with(6, 'rows')]) {
    assert.throws(() => eventOfRecord(record), /needs model m9/);
  }
});

record.run();
