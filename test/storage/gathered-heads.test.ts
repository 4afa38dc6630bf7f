import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Fault } from '#errors/fault';
import { memoryInstanceStore } from '#storage/memory/instances';
import { gatheredHeads } from '#storage/ports/head-codec';
import { HEADS_MAX, type InstanceHead, type InstanceStore } from '#storage/ports/instances';
import { checkpointAt, headAt, storeOne } from '#test/storage/contracts/rows';
import { refusalOf } from '#test/support/settled';

/** A store that records its calls, with buckets by first letter. */
async function gatheredScene(change: Partial<InstanceStore> = {}) {
  const memory = memoryInstanceStore();
  for (const id of ['a1', 'a2', 'b1']) await storeOne(memory, id, checkpointAt(1));
  const asked: string[] = [];
  const store = gatheredHeads({
    ...memory,
    bucketOf: (id) => id.charCodeAt(0),
    readHead(id) {
      asked.push(id);
      return memory.readHead(id);
    },
    readHeads(ids) {
      asked.push(ids.join(' '));
      return (change.readHeads ?? memory.readHeads)(ids);
    },
  });
  const versionsOf = (ids: readonly string[]) =>
    Promise.all(ids.map(async (id) => (await store.readHead(id))?.version));
  return { store, asked, versionsOf };
}

const gathered = suite('heads read in one event-loop turn');

gathered('are read once per bucket, and every reader gets the requested head', async () => {
  const { asked, versionsOf } = await gatheredScene();
  const versions = await versionsOf(['a1', 'b1', 'a9', 'a2', 'a1']);
  assert.equal(versions, [1, 1, undefined, 1, 1]);
  assert.equal(asked, ['a1 a9 a2', 'b1']);
});

gathered('are read again in the next turn', async () => {
  const { store, asked } = await gatheredScene();
  assert.equal(await store.readHead('a1'), headAt(1));
  await storeOne(store, 'a1', checkpointAt(2));
  assert.equal(await store.readHead('a1'), headAt(2));
  assert.equal(asked, ['a1', 'a1']);
});

gathered('are limited per read to the maximum number of the store', async () => {
  const { asked, versionsOf } = await gatheredScene();
  const ids = Array.from({ length: 2 * HEADS_MAX + 1 }, (_, i) => `a${i}`);
  await versionsOf(ids);
  assert.equal(
    asked.map((text) => text.split(' ').length),
    [HEADS_MAX, HEADS_MAX, 1],
  );
});

gathered('fail individually if one head is damaged', async () => {
  const damaged = new Error('the head of a2 does not match its checksum');
  const { store } = await gatheredScene({
    readHeads: async () =>
      new Map<string, InstanceHead | Error>([
        ['a1', headAt(1)],
        ['a2', damaged],
      ]),
  });
  const [good, bad] = [store.readHead('a1'), refusalOf(() => store.readHead('a2'))];
  assert.equal(await good, headAt(1));
  assert.is(await bad, damaged);
});

gathered('all fail if the store does not answer, and the next read calls the store', async () => {
  const down = new Fault('service_unavailable', 'down');
  const { store, asked } = await gatheredScene({ readHeads: () => Promise.reject(down) });
  const refused = ['a1', 'a2'].map((id) => refusalOf(() => store.readHead(id)));
  assert.equal(await Promise.all(refused), [down, down]);
  assert.equal(await store.readHead('a1'), headAt(1));
  assert.equal(asked, ['a1 a2', 'a1']);
});

gathered.run();
