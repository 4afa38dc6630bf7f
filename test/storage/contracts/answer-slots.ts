import type { suite as plainSuite, Test } from 'uvu';
import * as assert from 'uvu/assert';
import { ANSWER_AGE_MS, type AnswerRow, type InstanceStore } from '#storage/ports/instances';
import { answerRow, checkpointAt, storeOne } from '#test/storage/contracts/rows';

const START_MS = 1_768_478_400_000;

/** Contract tests for answers with positions, which stores may keep in slots. */
export function answerSlotsOf(
  name: string,
  open: () => Promise<InstanceStore>,
  suite: typeof plainSuite,
): Test {
  const slots = suite(`answers with positions in ${name}`);

  slots('are found by key, with every field', async () => {
    const store = await open();
    // Keys of three slots, more than two rows in the first slot, and keys without a slot.
    const answers = Array.from({ length: 700 }, (_, n) => positioned(n + 1, (n >> 9) * 65_536));
    const stale = { ...positioned(701, 0), atMs: START_MS + 200_000 };
    const early = { ...positioned(702, 131_072), atMs: START_MS };
    const upper = positioned(703, 0);
    const others = [
      ...[stale, early, { ...upper, key: `call:${upper.key.slice(5).toUpperCase()}` }],
      { ...positioned(704, 0), key: 'call:order-7' },
      { ...positioned(705, 0), fingerprint: 'f'.repeat(64) },
      { ...positioned(706, 0), position: { version: 706, generation: 2 ** 33, cycle: 2 ** 34 } },
    ];
    const all = [...answers, ...others];
    await storeOne(store, 'inst_a', checkpointAt(706, { answers: all }));
    for (const row of [...all.slice(0, 3), ...all.slice(254, 258), ...all.slice(510)]) {
      assert.equal(await store.findAnswer('inst_a', row.key, 0), row);
    }
    const [first, ...some] = [1, 300, 600, 699, 705].map((n) => all[n - 1] as AnswerRow);
    const keys = [first, ...some].map((row) => row?.key ?? '');
    const found = await store.findAnswers('inst_a', [...keys, positioned(800, 0).key], 0);
    const inOrder = (rows: readonly (AnswerRow | undefined)[]) =>
      rows.toSorted((one, other) => (one?.atMs ?? 0) - (other?.atMs ?? 0));
    assert.equal(inOrder(found), inOrder([first, ...some]));
    assert.is(await store.findAnswer('inst_a', positioned(800, 0).key, 0), undefined);
    assert.is(await store.findAnswer('inst_b', first?.key ?? '', 0), undefined);
    assert.is(await store.findAnswer('inst_a', first?.key ?? '', START_MS + 99_999), undefined);
    const pages = await Array.fromAsync(store.answerPages(['inst_a']));
    assert.equal(new Set(pages.flat().map(({ answer }) => answer.key)).size, all.length);
  });

  slots('stay when a node writes its part of them late', async () => {
    const store = await open();
    const rows = Array.from({ length: 12 }, (_, n) => positioned(n + 1, 0));
    const write = (from: number, to: number, version: number) =>
      store.storeAnswers([{ instanceId: 'inst_a', version, answers: rows.slice(from, to) }]);
    await write(0, 5, 12);
    await write(5, 12, 12);
    // The next owner has replayed all records, and stores the oldest answers first.
    await write(0, 8, 15);
    await write(8, 12, 15);
    // A late write of the former owner.
    await write(5, 12, 12);
    for (const row of rows) assert.equal(await store.findAnswer('inst_a', row.key, 0), row);
  });

  slots('of a reused key are the newer answers', async () => {
    const store = await open();
    const old = positioned(1, 0);
    const position = { version: 9, generation: 1, cycle: 8 };
    const again = { ...old, atMs: old.atMs + ANSWER_AGE_MS + 1, position };
    await storeOne(store, 'inst_a', checkpointAt(2, { answers: [old] }));
    await storeOne(store, 'inst_a', checkpointAt(9, { answers: [again] }));
    assert.equal(await store.findAnswer('inst_a', old.key, old.atMs), again);
    assert.equal(await store.findAnswers('inst_a', [old.key], old.atMs), [again]);
  });
  return slots;
}

/** Answer at a version to a new UUIDv7 that was made `afterMs` after the start. */
function positioned(version: number, afterMs: number): AnswerRow {
  const madeAtMs = START_MS + afterMs + version;
  const hex = madeAtMs.toString(16).padStart(12, '0');
  const tail = version.toString(16).padStart(12, '0');
  return answerRow(`call:${hex.slice(0, 8)}-${hex.slice(8)}-7abc-8def-${tail}`, madeAtMs + 3, {
    fingerprint: tail.padStart(32, '9e'),
    ...{ body: '', etag: '' },
    position: { version, generation: 1, cycle: version - 1 },
  });
}
