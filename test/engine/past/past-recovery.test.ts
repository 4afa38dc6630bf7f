import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { InstanceChange, InstanceEvent } from '#engine/instance/event';
import { InstanceSourcing } from '#engine/instance/sourcing';
import { instanceFrom, StepTimer } from '#engine/instance/state';
import { MODEL_1_0, MODELS } from '#identity/model';
import { memoryInstanceStore } from '#storage/memory/instances';
import { packedState } from '#storage/ports/instances';
import { ANCHORED, INSTANCE_ID, START_MS } from '#test/engine/instance/instance-fixture';
import { ManualClock } from '#test/support/manual-clock';

const none = async (): Promise<void> => undefined;

const sourcing = new InstanceSourcing({
  store: memoryInstanceStore(),
  directory: { put: none, reserve: none, remove: none },
  model: { models: MODELS, steps: new StepTimer(new ManualClock(), () => undefined) },
});

const eventOf = (change: InstanceChange, modelVersion = '1.0'): InstanceEvent => {
  return { modelVersion, change, atMs: START_MS, answerKey: undefined };
};

/** A batch of 100 observations, from second `fromS` on. */
function observed(fromS: number, modelVersion?: string): InstanceEvent {
  const observations = Array.from({ length: 100 }, (_, n) => {
    const timestampMs = START_MS + (fromS + n) * 1_000;
    return { mode: n % 7, signal: (n % 11) / 10, confidence: 1, contextJson: '{}', timestampMs };
  });
  const change = {
    kind: 'observed',
    observations,
    isBatch: true,
    isEveryStateWanted: false,
  } as const;
  return eventOf(change, modelVersion);
}

/** Applies events to an instance that does not exist yet. */
function applied(events: readonly InstanceEvent[]) {
  let state = instanceFrom(undefined);
  for (const [index, event] of events.entries()) {
    ({ state } = sourcing.apply(state, event, index + 1, INSTANCE_ID));
  }
  return state;
}

const { kind: _, ...config } = ANCHORED;
const created = eventOf({ kind: 'created', accountId: 'Acc0unt00001', ...config });

const start = {
  ...{ parentId: 'inst_00000000000000bb', generation: 3, cycle: 0, modelVersion: '1.0' },
  originMs: START_MS - 5_000,
  observedAtMs: undefined,
  state: packedState(MODEL_1_0.create(ANCHORED)),
};
const forked = eventOf({
  ...{ kind: 'forked', accountId: 'Acc0unt00001', name: 'Ada', description: '', start },
});

const crash = suite('after a crash before the checkpoint');

for (const [how, first] of Object.entries({ created, forked })) {
  crash(`the journal gives the states of an instance that was ${how}`, () => {
    const reset = eventOf({ kind: 'reset', mode: 'default' });
    const observations = [observed(0), observed(200), observed(400, '1.1')];
    const events = [first, ...observations, reset, observed(600, '1.1')];
    const live = applied(events);
    const records = events.map((event) => JSON.stringify(sourcing.recordOf(event)));
    const recovered = applied(records.map((record) => sourcing.read(JSON.parse(record))));
    assert.equal(recovered.unstored?.states, live.unstored?.states);
    assert.equal(recovered.head, live.head);
    const places = live.unstored?.states.map(({ cause, ordinal }) => `${ordinal} ${cause}`);
    const expected = ['201 model', '256 spaced', '300 default'];
    assert.equal(places, how === 'forked' ? ['0 forked', ...expected] : expected);
  });
}

crash('a fork at the start of a generation keeps the origin of its parent', () => {
  const { head } = applied([forked]);
  assert.equal([head?.originMs, head?.observedAtMs], [start.originMs, undefined]);
  assert.equal(head?.floor?.timestampMs, start.originMs);
});

crash.run();
