import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  ANCHORED,
  bodyOf,
  createdInstance,
  type InstanceScene,
  observed,
  pushed,
  START_MS,
} from '#test/engine/instance/instance-fixture';

/** Answers to all read commands, byte for byte. */
async function everything({ ask }: InstanceScene, throttledAtMs: number) {
  const page = { limit: 1_000, offset: 0, isEveryGeneration: true };
  const commands = [
    { kind: 'readInstance' },
    { kind: 'readSnapshot' },
    { kind: 'readContract' },
    { kind: 'readHistory', ...page },
    { kind: 'readDrift', ...page, isPaged: true },
    observed({ timestampMs: throttledAtMs }),
    observed({ timestampMs: throttledAtMs }, { timestampMs: throttledAtMs + 1_000 }),
  ] as const;
  const answers = [];
  for (const command of commands) answers.push(await ask(command));
  return answers;
}

/** An identity pushed away from its home until a rollback, and the time of the last push. */
async function rolledBack() {
  const scene = await createdInstance({}, ANCHORED);
  for (let n = 1; n <= 400; n += 1) {
    const answer = await scene.ask(pushed(n));
    if (bodyOf(answer).data.drift.level === 'D3') return { scene, lastMs: START_MS + n * 2_000 };
  }
  throw new Error('no observation caused a rollback');
}

const back = suite('when an instance is reloaded after an eviction');

back('every answer is byte-identical', async () => {
  const scene = await createdInstance({}, { description: 'with "quotes" and é\u{1f600}' });
  for (let n = 0; n < 30; n += 1) {
    scene.jump(1_700);
    await scene.ask(observed({ mode: n % 7, signal: (n % 4) / 3, contextJson: `{"n":${n}}` }));
  }
  const lastMs = scene.clock.wallMs();
  const before = await everything(scene, lastMs + 1);
  await scene.evict();
  assert.not(scene.isInMemory());
  assert.equal(await everything(scene, lastMs + 1), before);
});

back('the report of a rolled-back cycle is the same', async () => {
  const { scene, lastMs } = await rolledBack();
  const before = await everything(scene, lastMs + 999);
  const throttled = bodyOf(before[5] ?? ({ body: '' } as never));
  assert.is(throttled.data.drift.level, 'D3');
  await scene.evict();
  assert.equal(await everything(scene, lastMs + 999), before);
});

back('further observations give the same answers as without the eviction', async () => {
  const [{ scene: left }, { scene: stayed }] = [await rolledBack(), await rolledBack()];
  await left.evict();
  for (let n = 0; n < 20; n += 1) {
    const timestampMs = START_MS + 1_000_000 + n * 5_000;
    const command = observed({ mode: n % 7, signal: 1, timestampMs });
    assert.equal((await left.ask(command)).body, (await stayed.ask(command)).body);
    if (n % 7 === 3) await left.evict();
  }
});

back('the next observation without a timestamp gets the present time', async () => {
  const scene = await createdInstance();
  await scene.ask(observed());
  await scene.evict();
  await scene.ask(observed());
  const page = { limit: 1, offset: 0, isEveryGeneration: false };
  const { data } = await scene.read({ kind: 'readHistory', ...page });
  assert.is(data[0].timestamp, new Date(scene.clock.wallMs()).toISOString());
});

back('a clock behind the last observation does not block the instance', async () => {
  const scene = await createdInstance();
  await scene.ask(observed());
  await scene.evict();
  scene.clock.stepWall(-3_600_000);
  assert.is((await scene.ask(observed())).cycles, 1);
  const page = { limit: 1, offset: 0, isEveryGeneration: false };
  const { data } = await scene.read({ kind: 'readHistory', ...page });
  assert.is(data[0].timestamp, new Date(START_MS + 1_000).toISOString());
});

back.run();
