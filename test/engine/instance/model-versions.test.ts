import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { InstanceSourcing } from '#engine/instance/sourcing';
import { headOf, instanceFrom, StepTimer } from '#engine/instance/state';
import { MODEL_1_0, type Model, type Models, modelsOf, restrictedModels } from '#identity/model';
import { STATE_LENGTH, type State } from '#identity/state';
import { memoryInstanceStore } from '#storage/memory/instances';
import { CorruptState } from '#storage/ports/bytes';
import {
  CREATE,
  createdInstance,
  INSTANCE_ID,
  type InstanceScene,
  instancesUnderTest,
  observed,
} from '#test/engine/instance/instance-fixture';
import { ManualClock } from '#test/support/manual-clock';
import { refusalOf } from '#test/support/settled';

/** First value of a later model's state. All other values are shifted by one. */
const MARK = 47;

const ofFirst = (state: State): State => state.subarray(1);

function marked(first: State): State {
  const state = new Float64Array(STATE_LENGTH + 1);
  state[0] = MARK;
  state.set(first, 1);
  return state;
}

/** A model that no release has. Its layout differs, and it inverts the signal. */
const LATER_MODEL: Model = {
  version: '2.0',
  stateLength: STATE_LENGTH + 1,
  sinceCycle: () => 0,
  create: (config) => marked(MODEL_1_0.create(config)),
  advance(from, observation, dtSeconds, into) {
    const opposite = { ...observation, signal: 1 - observation.signal };
    MODEL_1_0.advance(ofFirst(from), opposite, dtSeconds, ofFirst(into));
    into[0] = MARK;
  },
  readReport: (state, into) => MODEL_1_0.readReport(ofFirst(state), into),
  readReferencePoints: (state) => MODEL_1_0.readReferencePoints(ofFirst(state)),
  resetToInitial: (state) => marked(MODEL_1_0.resetToInitial(ofFirst(state))),
  resetToDefault: (state) => marked(MODEL_1_0.resetToDefault(ofFirst(state))),
  takesOver: new Map([[MODEL_1_0.version, marked]]),
};

/** Models of a program that starts instances with the first model. */
const BOTH_MODELS = modelsOf([MODEL_1_0, LATER_MODEL], MODEL_1_0);

/** Models of the following release, which starts instances with the later model. */
const LATER_FIRST = modelsOf([MODEL_1_0, LATER_MODEL], LATER_MODEL);

/** Models of a program without the later model. */
const FIRST_ONLY = modelsOf([MODEL_1_0], MODEL_1_0);

const LATER = { modelVersion: LATER_MODEL.version };
const FIRST = { modelVersion: MODEL_1_0.version };
const OTHER_ID = 'inst_00000000000000bb';
const AT = { atMs: 1_768_435_200_000, answerKey: undefined };

const none = async (): Promise<void> => undefined;

/** Makes an observation after a sufficient interval. `chosen` is the account's model. */
async function observe(scene: InstanceScene, chosen: { modelVersion?: string } = {}) {
  scene.jump(5_000);
  return scene.ask(observed({ signal: 0.9 }), chosen);
}

/** The head after a checkpoint. */
async function storedHead(scene: InstanceScene, id = INSTANCE_ID) {
  await scene.flush();
  const head = await scene.store.readHead(id);
  assert.ok(head);
  return head;
}

/** An evicted instance of the first model, for other programs to load. */
async function olderInstance() {
  const store = memoryInstanceStore();
  const before = await createdInstance({ store, models: FIRST_ONLY });
  await observe(before);
  await before.evict();
  return (models: Models) => instancesUnderTest({ store, models });
}

const goingOn = suite('an instance whose account has chosen no model');

goingOn('starts with the default model of its program', async () => {
  for (const [models, expected] of [
    [BOTH_MODELS, '1.0'],
    [LATER_FIRST, '2.0'],
  ] as const) {
    const head = await storedHead(await createdInstance({ models }));
    assert.is(head.modelVersion, expected);
  }
});

goingOn("keeps its model, whatever the program's default is", async () => {
  const scene = (await olderInstance())(LATER_FIRST);
  const same = await createdInstance({ models: FIRST_ONLY });
  await observe(same);
  same.jump(60_000);
  scene.jump(5_000 + 60_000);
  const [answer, expected] = [await observe(scene), await observe(same)];
  assert.equal(JSON.parse(String(answer.body)).data, JSON.parse(String(expected.body)).data);
  assert.is((await storedHead(scene)).modelVersion, '1.0');
});

const choosing = suite('when an account chooses a later model');

choosing(
  'the next observation migrates an instance, which then keeps the later model',
  async () => {
    const scene = (await olderInstance())(BOTH_MODELS);
    const before = await scene.read({ kind: 'readSnapshot' });
    const { body } = await observe(scene, LATER);
    const { snapshot } = JSON.parse(String(body)).data;
    assert.is(snapshot.cycle, before.data.cycle + 1);
    const { modelVersion, model } = await storedHead(scene);
    assert.equal([modelVersion, model[0]], ['2.0', 47]);
    await scene.evict();
    const after = await scene.read({ kind: 'readSnapshot' });
    assert.equal(after.data.mode_strengths, snapshot.mode_strengths);
    await observe(scene);
    await scene.ask({ kind: 'rename', name: 'Bo', description: undefined });
    await scene.ask({ kind: 'reset', mode: 'initial' });
    assert.is((await storedHead(scene)).modelVersion, '2.0');
  },
);

choosing('the later model computes the following cycles', async () => {
  const meet = await olderInstance();
  const changed = await observe(meet(BOTH_MODELS), LATER);
  const same = await observe(meet(BOTH_MODELS));
  const strengthOf = ({ body }: typeof same) =>
    JSON.parse(String(body)).data.snapshot.mode_strengths;
  assert.not.equal(strengthOf(changed), strengthOf(same));
});

choosing('new instances start with the later model', async () => {
  const scene = instancesUnderTest({ models: BOTH_MODELS });
  await scene.ask(CREATE, LATER);
  assert.is((await storedHead(scene)).modelVersion, '2.0');
});

choosing('a rename or reset does not migrate an instance', async () => {
  const scene = (await olderInstance())(BOTH_MODELS);
  await scene.ask({ kind: 'rename', name: 'Bo', description: undefined }, LATER);
  await scene.ask({ kind: 'reset', mode: 'default' }, LATER);
  assert.is((await storedHead(scene)).modelVersion, '1.0');
});

choosing('an instance of the later model never migrates back', async () => {
  const scene = await createdInstance({ models: LATER_FIRST });
  await observe(scene, FIRST);
  assert.is((await storedHead(scene)).modelVersion, '2.0');
});

choosing('an engine without the later model keeps the first, and refuses creates', async () => {
  const scene = await createdInstance({ models: FIRST_ONLY });
  await observe(scene, LATER);
  assert.is((await storedHead(scene)).modelVersion, '1.0');
  const created = scene.ask(CREATE, { ...LATER, instanceId: OTHER_ID });
  await refusalOf(() => created);
  assert.match(String(scene.bugs[0]), /needs model 2\.0; this program has 1\.0$/);
});

const mixed = suite('while another engine lacks the later model');

mixed('new instances start with the first model, and no instance changes its model', async () => {
  const meet = await olderInstance();
  const models = restrictedModels(LATER_FIRST, () => false);
  const scene = meet(models);
  await observe(scene, LATER);
  assert.is((await storedHead(scene)).modelVersion, '1.0');
  await scene.ask(CREATE, { ...LATER, instanceId: OTHER_ID });
  assert.is((await storedHead(scene, OTHER_ID)).modelVersion, '1.0');
});

mixed('instances of the later model keep it', async () => {
  const store = memoryInstanceStore();
  const before = await createdInstance({ store, models: LATER_FIRST });
  await before.evict();
  const scene = instancesUnderTest({ store, models: restrictedModels(LATER_FIRST, () => false) });
  await observe(scene);
  assert.is((await storedHead(scene)).modelVersion, '2.0');
});

const replaying = suite('when records of two models are replayed');

replaying('the replayed state is bit-identical', () => {
  const steps = new StepTimer(new ManualClock(), () => undefined);
  const sourcing = new InstanceSourcing({
    store: memoryInstanceStore(),
    directory: { put: none, remove: none, reserve: none },
    model: { models: BOTH_MODELS, steps },
  });
  const { kind: _, ...config } = CREATE;
  const created = { kind: 'created', accountId: 'Acc0unt00001', ...config } as const;
  const event = (modelVersion: string, second: number) => {
    const seen = { mode: 2, signal: 0.9, confidence: 1, contextJson: '{}' };
    const observations = [{ ...seen, timestampMs: second * 1_000 }];
    const change = { kind: 'observed', observations, isBatch: false } as const;
    return { modelVersion, change: { ...change, isEveryStateWanted: false }, ...AT };
  };
  const events = [
    { modelVersion: '1.0', change: created, ...AT },
    ...['1.0', '1.0', '2.0', '2.0'].map((model, second) => event(model, second)),
  ];
  const lines = events.map((one) => JSON.stringify(sourcing.recordOf(one)));
  const run = (read: typeof events) =>
    read.reduce(
      (state, one, index) => sourcing.apply(state, one, index + 1, INSTANCE_ID).state,
      instanceFrom(undefined),
    );
  const again = run(lines.map((line) => sourcing.read(JSON.parse(line)) as (typeof events)[0]));
  assert.equal(headOf(again), headOf(run(events)));
  assert.equal([headOf(again).modelVersion, headOf(again).model[0]], ['2.0', 47]);
});

const unknown = suite('when a newer program stored an instance with its own model');

unknown('only this instance gets an internal error, and the log has the reason', async () => {
  const store = memoryInstanceStore();
  const later = await createdInstance({ store, models: LATER_FIRST });
  await later.evict();
  const scene = instancesUnderTest({ store, models: FIRST_ONLY });
  for (const command of [
    observed(),
    { kind: 'readSnapshot' },
    { kind: 'rename', name: 'Bo', description: undefined },
    { kind: 'remove' },
  ] as const) {
    await refusalOf(() => scene.ask(command));
  }
  assert.is(scene.bugs.length, 4);
  for (const bug of scene.bugs) {
    assert.instance(bug, CorruptState);
    assert.match(String(bug), /inst_00000000000000aa needs model 2\.0; this program has 1\.0$/);
  }
  await scene.ask(CREATE, { instanceId: OTHER_ID });
  assert.is((await storedHead(scene, OTHER_ID)).modelVersion, '1.0');
  assert.equal(await store.readHead(INSTANCE_ID), await later.store.readHead(INSTANCE_ID));
});

unknown('its tombstone remains readable', async () => {
  const store = memoryInstanceStore();
  const later = await createdInstance({ store, models: LATER_FIRST });
  await later.ask({ kind: 'remove' });
  await later.evict();
  const { code } = await instancesUnderTest({ store }).refusal({ kind: 'readSnapshot' });
  assert.is(code, 'not_found');
});

for (const group of [goingOn, choosing, mixed, replaying, unknown]) group.run();
