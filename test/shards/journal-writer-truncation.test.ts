import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  TRUNCATION_AGE_MS,
  TRUNCATION_BYTES_MIN,
  TRUNCATION_SLOTS_MIN,
} from '#shards/journal-bounds';
import { lineOf } from '#test/actor-runtime/commit-log/journal-records';
import { held, newScene } from '#test/shards/journal-writer-fixture';
import { turnOfEvents } from '#test/support/settled';

type Scene = Awaited<ReturnType<typeof newScene>>;

/** Slot and `deleteBelow` of each append with a deletion. */
const deletionsOf = ({ appends }: Pick<Scene, 'appends'>) =>
  appends.flatMap(({ slot, deleteBelow }) =>
    deleteBelow === undefined ? [] : [[slot, deleteBelow]],
  );

/** Appends `count` groups, with the low-water mark that `needed` returns for each slot. */
async function appended(count: number, needed: (slot: number) => number, bytes = 1) {
  const scene = await newScene();
  const event = 'x'.repeat(bytes);
  for (let slot = 0; slot < count; slot += 1) {
    await scene.writer.append([lineOf({ event })], needed(slot));
  }
  return scene;
}

const mark = suite('the low-water mark of a journal writer');

mark('is in every slot, and stays below the newest slot', async () => {
  const { appends } = await appended(4, (slot) => slot);
  assert.equal(
    appends.map((append) => append.lowWaterMark),
    [0, 0, 1, 2],
  );
});

mark('never decreases, and never passes a needed slot', async () => {
  const { appends } = await appended(6, (slot) => (slot === 4 ? 0 : 2));
  assert.equal(
    appends.map((append) => append.lowWaterMark),
    [0, 0, 1, 2, 2, 2],
  );
});

const deletion = suite('a deletion by a journal writer');

deletion('happens at 1,000 slots and not earlier', async () => {
  const scene = await appended(TRUNCATION_SLOTS_MIN + 3, (slot) => slot);
  assert.equal(deletionsOf(scene), [[TRUNCATION_SLOTS_MIN + 2, TRUNCATION_SLOTS_MIN]]);
  const left = await scene.stored.readSlots('me', 0, TRUNCATION_SLOTS_MIN + 3);
  assert.equal(left[0]?.slot, TRUNCATION_SLOTS_MIN);
});

deletion('happens at 4 MiB', async () => {
  const scene = await appended(11, (slot) => slot, TRUNCATION_BYTES_MIN / 8);
  assert.equal(deletionsOf(scene), [[10, 8]]);
});

deletion('happens at 4 MiB, counted since the last deletion', async () => {
  const scene = await newScene();
  const large = lineOf({ event: 'x'.repeat(TRUNCATION_BYTES_MIN / 8) });
  for (let slot = 0; slot < 30; slot += 1) {
    await scene.writer.append([slot < 9 ? large : lineOf()], slot);
  }
  assert.equal(deletionsOf(scene), [[10, 8]]);
});

deletion('happens after 10 s at any size, and not again immediately', async () => {
  const scene = await newScene();
  const { writer, clock } = scene;
  for (let slot = 0; slot < 4; slot += 1) await writer.append([], slot);
  clock.advance(TRUNCATION_AGE_MS - 1);
  await writer.append([], 4);
  assert.equal(deletionsOf(scene), []);
  clock.advance(1);
  await writer.append([], 5);
  await writer.append([], 6);
  assert.equal(deletionsOf(scene), [[5, 3]]);
});

deletion('never passes a low-water mark in an acknowledged slot', async () => {
  const scene = await newScene();
  const { writer, clock, looks } = scene;
  for (let slot = 0; slot < 3; slot += 1) await writer.append([], 0);
  clock.advance(TRUNCATION_AGE_MS);
  const look = held<boolean>();
  looks.push(look.twist);
  const naming = writer.append([], 2);
  await turnOfEvents();
  await Promise.race([writer.append([], 2), turnOfEvents()]);
  assert.equal(deletionsOf(scene), [], 'the slot that contains the mark is not acknowledged');
  look.release();
  await naming;
  await writer.append([], 2);
  assert.equal(deletionsOf(scene), [[5, 2]]);
});

for (const group of [mark, deletion]) group.run();
