import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { TRUNCATION_AGE_MS, TRUNCATION_BYTES_MIN, TRUNCATION_SLOTS_MIN } from '#node/bounds';
import { newScene } from '#test/node/journal-writer-fixture';
import { lineOf } from '#test/runtime/journal-records';

const lowWaterMark = suite('the low-water mark of a journal writer');

/** Appends `count` groups that need nothing below `needed`, and answers the marks that were sent. */
async function marksOf(count: number, needed: (slot: number) => number, bytes = 1) {
  const scene = await newScene();
  const event = 'x'.repeat(bytes);
  for (let slot = 0; slot < count; slot += 1) {
    await scene.writer.append([lineOf({ event })], needed(slot));
  }
  const marks = scene.appends.flatMap(({ slot, lowWaterMark: mark, isTruncating }) =>
    isTruncating ? [[slot, mark]] : [],
  );
  return { ...scene, marks };
}

lowWaterMark('moves when it can by 1,000 slots, not before', async () => {
  const { marks, stored } = await marksOf(TRUNCATION_SLOTS_MIN + 2, (slot) => slot);
  assert.equal(marks, [[TRUNCATION_SLOTS_MIN + 1, TRUNCATION_SLOTS_MIN]]);
  const left = await stored.readSlots('me', 0, TRUNCATION_SLOTS_MIN + 2);
  assert.equal(
    left.map(({ slot }) => slot),
    [TRUNCATION_SLOTS_MIN, TRUNCATION_SLOTS_MIN + 1],
  );
});

lowWaterMark('moves when it can by 4 MiB', async () => {
  const bytes = TRUNCATION_BYTES_MIN / 8;
  const { marks } = await marksOf(10, (slot) => slot, bytes);
  assert.equal(marks, [[9, 8]]);
});

lowWaterMark('moves by 4 MiB only for what has come since it last moved', async () => {
  const { writer, appends } = await newScene();
  const large = lineOf({ event: 'x'.repeat(TRUNCATION_BYTES_MIN / 8) });
  for (let slot = 0; slot < 30; slot += 1) {
    await writer.append([slot < 9 ? large : lineOf()], slot);
  }
  assert.equal(
    appends.flatMap((append) => (append.isTruncating ? append.lowWaterMark : [])),
    [8],
  );
});

lowWaterMark('moves after 10 s, whatever little it can, and not again at once', async () => {
  const { writer, clock, appends } = await newScene();
  for (let slot = 0; slot < 3; slot += 1) await writer.append([], slot);
  clock.advance(TRUNCATION_AGE_MS - 1);
  await writer.append([], 2);
  clock.advance(1);
  await writer.append([], 3);
  await writer.append([], 4);
  assert.equal(
    appends.map(({ lowWaterMark: mark, isTruncating }) => [mark, isTruncating]),
    [...Array.from({ length: 4 }, () => [0, false]), [3, true], [3, false]],
  );
});

lowWaterMark('never passes the newest slot', async () => {
  const { writer, clock, appends, stored } = await newScene();
  await writer.append([], 0);
  clock.advance(TRUNCATION_AGE_MS);
  await writer.append([], 1);
  clock.advance(TRUNCATION_AGE_MS);
  await writer.append([], 99);
  assert.equal(
    appends.map((append) => append.lowWaterMark),
    [0, 0, 1],
  );
  assert.is((await stored.readSlots('me', 1, 2)).length, 1);
});

lowWaterMark('never passes what is needed', async () => {
  const { marks } = await marksOf(TRUNCATION_SLOTS_MIN + 10, () => 5);
  assert.equal(marks, []);
});

lowWaterMark.run();
