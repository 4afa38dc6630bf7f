import { suite as plainSuite, type Test } from 'uvu';
import * as assert from 'uvu/assert';
import { HEADS_MAX, type InstanceAnswer, type PagedInstances } from '#storage/ports/instances';
import {
  answerRow,
  checkpointAt,
  driftChunks,
  headAt,
  historyChunks,
  markerAt,
  storeOne,
} from '#test/storage/contracts/rows';

/** Opens a store, and returns an unused id prefix. */
type Open = () => Promise<{ readonly store: PagedInstances; readonly prefix: string }>;

/** Number of ordinals that spans several partitions. */
const LONG = 9_000;

/** Contract tests of the PagedInstances port for every adapter. */
export function pagedInstancesContract(name: string, open: Open, suite = plainSuite): Test {
  const paged = suite(`instances listed by tools in ${name}`);
  headsIn(paged, open);
  answersIn(paged, open);
  chunksIn(paged, open);
  return paged;
}

function headsIn(paged: Test, open: Open): void {
  paged('of one bucket are all returned with their heads, always in the same order', async () => {
    const { store, prefix } = await open();
    const ids = Array.from({ length: 2 * HEADS_MAX + 5 }, (_, index) => `${prefix}${index}`);
    for (const [index, id] of ids.entries()) {
      await storeOne(store, id, checkpointAt(index + 1, { head: headAt(index + 1) }));
    }
    const marker = markerAt(1_000);
    await storeOne(store, ids[3] ?? '', checkpointAt(1_000, { head: marker }));
    const answered = `${prefix}answered`;
    await store.storeAnswers([
      { instanceId: answered, version: 3, answers: [answerRow('process:x', 3)] },
    ]);
    const found = await headsOf(store, prefix);
    assert.equal([...found.keys()].sort(), ids.toSorted());
    assert.equal(found.get(ids[7] ?? ''), headAt(8));
    assert.equal(found.get(ids[3] ?? ''), marker);
    assert.equal([...(await headsOf(store, prefix)).keys()], [...found.keys()]);
  });

  paged('are returned in pages that fit into one read of heads', async () => {
    const { store, prefix } = await open();
    for (let index = 0; index < HEADS_MAX + 1; index += 1) {
      await storeOne(store, `${prefix}${index}`, checkpointAt(1));
    }
    const sizes = await Array.fromAsync(
      store.headPages(store.bucketOf(prefix)),
      ({ size }) => size,
    );
    assert.ok(sizes.length > 1 && sizes.every((size) => size <= HEADS_MAX));
  });
}

function answersIn(paged: Test, open: Open): void {
  paged('are returned with all their answers, with or without a head', async () => {
    const { store, prefix } = await open();
    const [one, other, third] = [`${prefix}a`, `${prefix}b`, `${prefix}c`];
    const rows = Array.from({ length: 30 }, (_, index) => answerRow(`process:${index}`, 5 + index));
    await storeOne(store, one, checkpointAt(2, { answers: rows }));
    const early = answerRow('process:3', 9);
    await store.storeAnswers([{ instanceId: other, version: 4, answers: [early] }]);
    await storeOne(store, third, checkpointAt(2, { answers: rows }));
    const expected = [
      ...rows.map((answer) => ({ instanceId: one, answer })),
      { instanceId: other, answer: early },
    ];
    const found = await answersOf(store, [one, other, `${prefix}d`]);
    assert.equal(found, inOrder(expected));
    assert.equal(await answersOf(store, []), []);
  });

  paged('are returned without answers if they are deleted', async () => {
    const { store, prefix } = await open();
    await storeOne(store, prefix, checkpointAt(2, { answers: [answerRow('process:2', 5)] }));
    await storeOne(store, prefix, checkpointAt(3, { head: markerAt(3) }));
    assert.equal(await answersOf(store, [prefix]), []);
  });
}

function chunksIn(paged: Test, open: Open): void {
  paged('are returned with their unchanged chunks, lowest first', async () => {
    const { store, prefix } = await open();
    const [history, drift] = [historyChunks(1, LONG), driftChunks(1, 100)];
    const head = headAt(LONG, { driftCount: 100 });
    await storeOne(store, prefix, checkpointAt(LONG, { head, history, drift }));
    const all = async (table: 'history' | 'drift', after: number, newest: number) =>
      (await Array.fromAsync(store.chunkPages(table, prefix, after, newest))).flat();
    assert.equal(await all('history', 0, LONG), history);
    assert.equal(await all('drift', 0, 100), drift);
    const some = history.filter(({ last }) => last > 32 && last <= 5_000);
    assert.equal(await all('history', 32, 5_000), some);
    assert.equal(await all('history', LONG, LONG + 31), []);
  });
}

async function headsOf(store: PagedInstances, prefix: string) {
  const pages = await Array.fromAsync(store.headPages(store.bucketOf(prefix)));
  return new Map(pages.flatMap((page) => [...page]).filter(([id]) => id.startsWith(prefix)));
}

async function answersOf(store: PagedInstances, ids: readonly string[]) {
  return inOrder((await Array.fromAsync(store.answerPages(ids))).flat());
}

function inOrder(answers: readonly InstanceAnswer[]): InstanceAnswer[] {
  const byKey = ({ instanceId, answer }: InstanceAnswer) => `${instanceId} ${answer.key}`;
  return answers.toSorted((a, b) => (byKey(a) < byKey(b) ? -1 : 1));
}
