import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { memoryInstanceStore } from '#storage/memory/instances';
import { CorruptState } from '#storage/ports/bytes';
import type { HistoryRow, InstanceStore } from '#storage/ports/instances';
import {
  bodyOf,
  chunksOfRows,
  createdInstance,
  type InstanceScene,
  observed,
} from '#test/engine/instance/instance-fixture';
import { refusalOf } from '#test/support/settled';

/** Sends `times` observations, 10 s apart. */
async function observe(scene: InstanceScene, times: number): Promise<void> {
  for (let left = times; left > 0; left -= 1) {
    scene.jump(10_000);
    await scene.ask(observed());
  }
}

/** Cycles of the newest rows, newest first. */
async function newestCycles(scene: InstanceScene, limit: number): Promise<number[]> {
  const page = { limit, offset: 0, isEveryGeneration: false };
  const { data } = bodyOf(await scene.ask({ kind: 'readHistory', ...page }));
  return data.map(({ cycle }: { cycle: number }) => cycle);
}

const damaged = suite('when a chunk is damaged');

for (const [what, spoil] of [
  ['is missing', (rows: HistoryRow[]) => rows.filter(({ ordinal }) => ordinal > 4)],
  [
    'cannot be read',
    () => {
      throw new CorruptState('the chunk of observations up to 4 of inst_1 ends too early');
    },
  ],
] as const) {
  damaged(
    `reading a page with a chunk that ${what} is an internal error, and other pages are served`,
    async () => {
      const memory = memoryInstanceStore();
      const store: InstanceStore = {
        ...memory,
        readHistory: async (id, newest, count) =>
          spoil(await memory.readHistory(id, newest, count)),
      };
      const scene = await createdInstance({ store, chunkBounds: chunksOfRows(4) });
      await observe(scene, 10);
      await scene.flush();
      const page = { limit: 10, offset: 0, isEveryGeneration: false };
      assert.instance(await refusalOf(() => scene.ask({ kind: 'readHistory', ...page })), Error);
      assert.is(scene.bugs.length, 1);
      assert.instance(scene.bugs[0], CorruptState);
      assert.equal(await newestCycles(scene, 2), [10, 9]);
      await observe(scene, 1);
      assert.equal(await newestCycles(scene, 1), [11]);
    },
  );
}

damaged.run();
