import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { applyEvent } from '#engine/instance/apply';
import type { InstanceEvent } from '#engine/instance/event';
import { pastView } from '#engine/instance/past';
import { eventOfRecord, recordOfEvent } from '#engine/instance/sourcing';
import { type InstanceState, instanceFrom, StepTimer } from '#engine/instance/state';
import { PastReads } from '#engine/past-reads';
import { Fault } from '#errors/fault';
import { type EngineAnswer, type EngineCall, forkStartFrom } from '#grpc/engine-messages';
import { MODELS } from '#identity/model';
import { memoryInstanceStore } from '#storage/memory/instances';
import type { AnswerRow, InstanceStore } from '#storage/ports/instances';
import {
  ACCOUNT_ID,
  ANCHORED,
  callOf,
  createdInstance,
  INSTANCE_ID,
  type InstanceScene,
  instancesUnderTest,
  observed,
  START_MS,
} from '#test/engine/instance/instance-fixture';
import { faultOf, pastReadsOf } from '#test/engine/past/past-fixture';
import { trimOf } from '#test/engine/trim/trim-fixture';
import { SeededRandom } from '#test/simulation/seeded-random';
import { ManualClock } from '#test/support/manual-clock';

const SEED = 20_261_130;

/** A keyed call that was answered. */
type Answered = {
  readonly fields: Pick<EngineCall, 'callId' | 'idempotency'>;
  readonly command: ReturnType<typeof observed>;
  readonly answer: EngineAnswer;
};

/** Sends keyed calls with random observations. Every second key is a new UUIDv7. */
class KeyedCalls {
  readonly answered: Answered[] = [];
  readonly #scene: InstanceScene;
  readonly #random = new SeededRandom(SEED);

  constructor(scene: InstanceScene) {
    this.#scene = scene;
  }

  async send(count: number, modelVersion?: string): Promise<this> {
    const { clock, ask } = this.#scene;
    for (let left = count; left > 0; left -= 1) {
      clock.advance(this.#random.whole(1_000, 5_000));
      const n = this.answered.length;
      const signal = this.#random.unit();
      const command = observed({ mode: n % 7, signal, timestampMs: clock.wallMs() });
      const key = n % 2 === 0 ? `order-${n}` : uuidV7(clock.wallMs(), n);
      const fingerprint = n.toString(16).padStart(64, 'ab');
      const fields = { callId: 10_000 + n, idempotency: { key, fingerprint } };
      const sent = modelVersion === undefined ? fields : { ...fields, modelVersion };
      this.answered.push({ fields, command, answer: await ask(command, sent) });
    }
    return this;
  }

  /** Asserts that every call is replayed with the same body and tag. */
  async assertReplayed(when: string): Promise<void> {
    for (const [n, { fields, command, answer }] of this.answered.entries()) {
      const { body, etag, isReplayed, cycles } = await this.#scene.ask(command, fields);
      const what = `call ${n}, ${when}, seed ${SEED}`;
      assert.is(String(body), String(answer.body), what);
      assert.equal([etag, isReplayed, cycles], [answer.etag, true, 0], what);
    }
  }
}

function uuidV7(madeAtMs: number, n: number): string {
  const hex = madeAtMs.toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7abc-8def-${n.toString(16).padStart(12, '0')}`;
}

/** A memory store, and the answers that were written. */
function recordingStore() {
  const memory = memoryInstanceStore();
  const written: AnswerRow[] = [];
  const store: InstanceStore = {
    ...memory,
    checkpoint: async (checkpoints) => {
      written.push(...checkpoints.flatMap(({ answers }) => answers));
      await memory.checkpoint(checkpoints);
    },
  };
  return { store, written };
}

const rebuilt = suite('the answer to a keyed observation');

rebuilt('is replayed byte for byte, wherever its rows are, across resets and models', async () => {
  const scene = instancesUnderTest();
  await scene.ask(ANCHORED, { modelVersion: '1.0' });
  const calls = new KeyedCalls(scene);
  await calls.send(5);
  await calls.assertReplayed('by model 1.0');
  await calls.send(270, '1.1');
  await calls.assertReplayed('in memory');
  await scene.ask({ kind: 'rename', name: 'Grace', description: undefined });
  await scene.ask({ kind: 'reset', mode: 'initial' });
  await calls.send(20);
  await scene.flush();
  await calls.assertReplayed('after a checkpoint');
  await scene.ask({ kind: 'reset', mode: 'default' });
  await scene.ask({ kind: 'reset', mode: 'initial' });
  await calls.send(30);
  await calls.assertReplayed('partly in memory');
  await scene.evict();
  await calls.assertReplayed('after an eviction');
  assert.equal(scene.bugs, []);
});

rebuilt('is replayed by a fork, and independent of the parent', async () => {
  const scene = await createdInstance({}, ANCHORED);
  await new KeyedCalls(scene).send(3);
  const child = 'inst_00000000000000bb';
  const start = await pastReadsOf(scene).ask({ kind: 'readForkStart', generation: 1, cycle: 2 });
  const fork = { generation: 1, cycle: 2, start: forkStartFrom(start).start };
  const create = { ...ANCHORED, fork };
  await scene.ask(create, { instanceId: child });
  const ask: InstanceScene['ask'] = (command, fields) =>
    scene.ask(command, { ...fields, instanceId: child });
  const calls = await new KeyedCalls({ ...scene, ask }).send(4);
  await scene.ask({ kind: 'remove' });
  await calls.assertReplayed('by the fork');
  await scene.evict();
  await calls.assertReplayed('by the stored fork');
});

rebuilt('is stored without its body', async () => {
  const { store, written } = recordingStore();
  const scene = await createdInstance({ store }, ANCHORED);
  await new KeyedCalls(scene).send(3);
  await scene.flush();
  assert.equal(
    written.map(({ body, etag, fingerprint, position }) => [
      body + etag,
      fingerprint.length,
      position?.cycle,
    ]),
    [
      ['', 32, 1],
      ['', 32, 2],
      ['', 32, 3],
    ],
  );
});

rebuilt('keeps its body if no past state is stored: under model 1.0', async () => {
  const { store, written } = recordingStore();
  const scene = instancesUnderTest({ store });
  await scene.ask(ANCHORED, { modelVersion: '1.0' });
  const { answered } = await new KeyedCalls(scene).send(2);
  await scene.flush();
  assert.equal(
    written.map(({ body }) => body),
    answered.map(({ answer }) => String(answer.body)),
  );
});

rebuilt('keeps its body after a trim to a floor without a state', async () => {
  const scene = await createdInstance({}, ANCHORED);
  const before = await new KeyedCalls(scene).send(4);
  await scene.evict();
  await trim(scene, 4);
  const calls = new KeyedCalls(scene);
  calls.answered.push(...before.answered);
  await calls.send(3);
  calls.answered.splice(0, 4);
  await calls.assertReplayed('above the floor');
  await scene.evict();
  await calls.assertReplayed('above the stored floor');
});

rebuilt('has the present state if its observation was trimmed within 24 h', async () => {
  const scene = await createdInstance({}, ANCHORED);
  const calls = await new KeyedCalls(scene).send(5);
  await scene.evict();
  await trim(scene, 3);
  const [first, , , , last] = calls.answered;
  assert.ok(first && last);
  const replayed = await scene.ask(first.command, first.fields);
  assert.equal([replayed.isReplayed, replayed.cycles], [true, 0]);
  assert.is(String(replayed.body), String(last.answer.body));
});

// Catches a trim whose plan could not see an answer, because the store did not have it yet.
rebuilt('that is not stored yet makes the engine refuse a trim of its rows', async () => {
  const scene = await createdInstance({}, ANCHORED);
  const calls = await new KeyedCalls(scene).send(5);
  assert.is((await faultOf(() => trim(scene, 3))).code, 'conflict');
  await calls.assertReplayed('after the refused trim');
  await scene.ask({ kind: 'reset', mode: 'initial' });
  // A floor before the reset may have the state of another model.
  assert.is((await faultOf(() => trim(scene, 1))).code, 'conflict');
});

/** Trims the oldest observations, without a state at the floor. */
async function trim(scene: InstanceScene, count: number): Promise<void> {
  const page = { limit: 1_000, offset: 0, isEveryGeneration: true };
  const rows = await scene.read({ kind: 'readHistory', ...page });
  const drift = await scene.read({ kind: 'readDrift', ...page, isPaged: true });
  await scene.ask(trimOf(rows.data.reverse(), drift.data.reverse(), count));
}

const recovered = suite('the answer to a keyed observation after a take-over');

recovered('is the same from the records of the journal', async () => {
  const ports = { models: MODELS, steps: new StepTimer(new ManualClock(), () => undefined) };
  const { kind: _, ...config } = ANCHORED;
  const base = { modelVersion: '1.1', atMs: START_MS };
  const events: InstanceEvent[] = [
    {
      ...base,
      change: { kind: 'created', accountId: ACCOUNT_ID, ...config },
      answerKey: undefined,
    },
  ];
  for (let n = 0; n < 300; n += 1) {
    const observation = { mode: n % 7, signal: (n % 9) / 8, confidence: 1, contextJson: '{}' };
    const observations = [{ ...observation, timestampMs: START_MS + n * 1_500 }];
    const change = { kind: 'observed', observations, isBatch: false } as const;
    events.push({
      ...base,
      change: { ...change, isEveryStateWanted: false },
      answerKey: { key: `call:${n}`, fingerprint: 'f' },
    });
  }
  const answers: EngineAnswer[] = [];
  const apply = (read: (event: InstanceEvent) => InstanceEvent): InstanceState => {
    let state = instanceFrom(undefined);
    for (const [index, event] of events.entries()) {
      const next = applyEvent(INSTANCE_ID, state, read(event), index + 1, ports);
      answers[index] = next.answer as EngineAnswer;
      state = next.state;
    }
    return state;
  };
  apply((event) => event);
  const first = answers.slice();
  const state = apply((event) => eventOfRecord(JSON.parse(JSON.stringify(recordOfEvent(event)))));
  const scene = instancesUnderTest();
  const past = new PastReads({ ...scene, models: MODELS });
  for (const n of [0, 100, 254, 255, 256, 298]) {
    const position = state.unstored?.answerTo(`call:${n}`)?.position;
    assert.ok(position);
    const view = async () => pastView(INSTANCE_ID, state, MODELS);
    const { body, etag } = await past.replay(callOf(observed()), position, view);
    assert.equal([body, etag], [first[n + 1]?.body, first[n + 1]?.etag], `observation ${n}`);
  }
});

const bounded = suite('replays at once');

bounded('of one account are refused beyond 256, and others are not', async () => {
  const scene = await createdInstance({}, ANCHORED);
  await new KeyedCalls(scene).send(2);
  const past = new PastReads({ ...scene, models: MODELS });
  const { promise, resolve } = Promise.withResolvers<void>();
  const position = { generation: 1, cycle: 1, version: 2 };
  const replay = (accountId: string) =>
    past.replay({ ...callOf(observed()), accountId }, position, async () => {
      await promise;
      throw new Fault('not_found', 'no such instance');
    });
  const ended = Array.from({ length: 256 }, () => replay('one').catch(() => undefined));
  const refused = await faultOf(() => replay('one'));
  assert.equal([refused.code, refused.reason], ['service_unavailable', 'overloaded']);
  const other = replay('other').catch((error: unknown) => error);
  resolve();
  await Promise.all(ended);
  assert.is(((await other) as Fault).code, 'not_found');
});

for (const group of [rebuilt, recovered, bounded]) group.run();
