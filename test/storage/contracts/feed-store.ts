import fc from 'fast-check';
import { suite as plainSuite, type Test } from 'uvu';
import * as assert from 'uvu/assert';
import {
  type ErasableFeeds,
  FEED_CHUNK_ROWS,
  type FeedCheckpoint,
  type FeedStore,
} from '#storage/ports/feeds';
import {
  feedCheckpoint,
  feedChunk,
  feedHead,
  keptEndpoint,
} from '#test/storage/contracts/feed-records';

type Open = () => Promise<ErasableFeeds>;

/** Number of random orders of writes to test. Adapters with a network may test fewer. */
const RUNS = 200;

/**
 * Contract tests of the FeedStore port for every adapter. `open` returns an empty store. `suite` may
 * be a variant of uvu's `suite` that skips all tests.
 */
export function feedStoreContract(
  name: string,
  open: Open,
  numRuns = RUNS,
  suite = plainSuite,
): Test {
  const feeds = suite(`feeds in ${name}`);
  heads(feeds, open, numRuns);
  chunks(feeds, open);
  erasing(feeds, open);
  indexes(feeds, open);
  return feeds;
}

/** Tests for adapters that delete chunks below the floor with each checkpoint. */
export function trimmedFeedContract(name: string, open: Open): Test {
  const trimmed = plainSuite(`chunks below the floor in ${name}`);

  trimmed('are deleted with the checkpoint, except the chunk with the floor', async () => {
    const store = await open();
    await store.checkpoint([feedCheckpoint('a', 1, 6 * FEED_CHUNK_ROWS)]);
    await store.checkpoint([feedCheckpoint('b', 1, 6 * FEED_CHUNK_ROWS)]);
    const floor = 3 * FEED_CHUNK_ROWS + 7;
    const later = { floor, firstChunk: 6 };
    await store.checkpoint([feedCheckpoint('a', 2, 7 * FEED_CHUNK_ROWS, later)]);
    assert.equal(await numbersOf(store, 'a'), [3, 4, 5, 6]);
    assert.equal(await numbersOf(store, 'b'), [0, 1, 2, 3, 4, 5]);
  });

  trimmed('are deleted even if a late checkpoint stores them again', async () => {
    const store = await open();
    const early = feedCheckpoint('a', 1, 2 * FEED_CHUNK_ROWS);
    const floor = 3 * FEED_CHUNK_ROWS;
    await store.checkpoint([early]);
    await store.checkpoint([feedCheckpoint('a', 2, 4 * FEED_CHUNK_ROWS, { floor })]);
    await store.checkpoint([early]);
    await store.checkpoint([feedCheckpoint('a', 3, 4 * FEED_CHUNK_ROWS, { floor })]);
    assert.equal(await numbersOf(store, 'a'), [3]);
  });

  return trimmed;
}

/** Stores one feed. */
async function store(feeds: FeedStore, checkpoint: FeedCheckpoint): Promise<void> {
  await feeds.checkpoint([checkpoint]);
}

async function numbersOf(feeds: FeedStore, accountId: string): Promise<number[]> {
  return (await feeds.readChunks(accountId, 0, 2_000)).map(({ chunk }) => chunk);
}

function heads(feeds: Test, open: Open, numRuns: number): void {
  feeds('of unknown accounts are undefined and have no chunks', async () => {
    const unknown = await open();
    assert.is(await unknown.readHead('a'), undefined);
    assert.equal(await unknown.readChunks('a', 0, 9), []);
  });

  feeds('are returned with every field', async () => {
    const feed = await open();
    const empty = { version: 1, next: 0, floor: 0, hours: [], newest: [], endpoints: [] };
    const aged = { ...empty, version: 2, next: 512, floor: 512 };
    const delivering = { ...feedHead(5, 7_424), endpoints: [keptEndpoint('whk_1', 7_000)] };
    const heads = [empty, aged, feedHead(3, 767, 300), feedHead(4, 7_424, 3_700), delivering];
    for (const head of heads) {
      await store(feed, { accountId: 'a', head, chunks: [] });
      assert.equal(await feed.readHead('a'), head);
    }
  });

  feeds('with endpoints are listed until they are erased, once each', async () => {
    const feed = await open();
    const bucket = feed.bucketOf('a');
    const before = await feed.withEndpoints(bucket);
    for (const id of ['a', 'b', 'a']) await feed.listEndpoints(id);
    const added = async () => {
      const present = await feed.withEndpoints(bucket);
      return present.filter((id) => !before.includes(id)).map((id) => id.at(-1));
    };
    assert.equal((await added()).toSorted(), ['a', 'b']);
    await feed.erase('a');
    await feed.listEndpoints('a');
    assert.equal(await added(), ['b']);
  });

  feeds('have the highest version, whatever the order and number of writes', async () => {
    const versions = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 8 });
    const property = fc.asyncProperty(versions, async (order) => {
      const feed = await open();
      for (const [index, version] of order.entries()) {
        await store(feed, feedCheckpoint('a', version, version));
        const highest = Math.max(...order.slice(0, index + 1));
        assert.equal(await feed.readHead('a'), feedHead(highest, highest), `stored as ${order}`);
      }
    });
    await fc.assert(property, { numRuns, endOnFailure: true });
  });

  feeds('of many accounts are stored in one call, with their chunks', async () => {
    const feed = await open();
    await store(feed, feedCheckpoint('a4', 9, 900, { firstChunk: 3 }));
    const accounts = Array.from({ length: 20 }, (_, index) => `a${index}`);
    await feed.checkpoint(
      [3, 1, 2].flatMap((version) => accounts.map((id) => feedCheckpoint(id, version, 600))),
    );
    for (const id of accounts) {
      const head = id === 'a4' ? feedHead(9, 900) : feedHead(3, 600);
      assert.equal(await feed.readHead(id), head, id);
      assert.equal(await numbersOf(feed, id), [0, 1]);
    }
  });
}

function chunks(feeds: Test, open: Open): void {
  feeds('have chunks in order, of the wanted range only', async () => {
    const feed = await open();
    await store(feed, feedCheckpoint('a', 1, 5 * FEED_CHUNK_ROWS));
    await store(feed, feedCheckpoint('b', 1, FEED_CHUNK_ROWS));
    assert.equal(await feed.readChunks('a', 1, 3), [feedChunk(1), feedChunk(2), feedChunk(3)]);
    assert.equal(await feed.readChunks('a', 4, 9), [feedChunk(4)]);
    assert.equal(await feed.readChunks('a', 3, 2), []);
    assert.equal(await numbersOf(feed, 'b'), [0]);
  });

  feeds('have chunks in order across partitions', async () => {
    const feed = await open();
    const floor = 510 * FEED_CHUNK_ROWS;
    const checkpoint = feedCheckpoint('a', 1, 515 * FEED_CHUNK_ROWS, { floor });
    await store(feed, { ...checkpoint, chunks: checkpoint.chunks.toReversed() });
    const found = await feed.readChunks('a', 511, 513);
    assert.equal(found, [feedChunk(511), feedChunk(512), feedChunk(513)]);
    assert.equal(await numbersOf(feed, 'a'), [510, 511, 512, 513, 514]);
  });

  feeds('leave out chunks that were never stored', async () => {
    const feed = await open();
    const checkpoint = feedCheckpoint('a', 1, 4 * FEED_CHUNK_ROWS);
    await store(feed, { ...checkpoint, chunks: [feedChunk(1), feedChunk(3)] });
    assert.equal(await numbersOf(feed, 'a'), [1, 3]);
  });

  feeds('keep the chunks of delayed and repeated checkpoints, but not their heads', async () => {
    const feed = await open();
    const early = feedCheckpoint('a', 1, 2 * FEED_CHUNK_ROWS);
    const later = feedCheckpoint('a', 2, 3 * FEED_CHUNK_ROWS, { firstChunk: 2 });
    for (const checkpoint of [later, early, later, early]) await store(feed, checkpoint);
    assert.equal(await feed.readHead('a'), later.head);
    assert.equal(await numbersOf(feed, 'a'), [0, 1, 2]);
  });
}

function indexes(feeds: Test, open: Open): void {
  // Catches parts of two accounts in one place, and a part of an erased account.
  feeds('have the newest part of an index, until they are erased', async () => {
    const feed = await open();
    const bytes = (text: string) => Buffer.from(text.repeat(40_000));
    assert.is(await feed.indexPart('a', 255), undefined);
    await feed.putIndexPart('a', 255, bytes('old'), 1_000);
    await feed.putIndexPart('a', 255, bytes('new'), 2_000);
    await feed.putIndexPart('a', 0, bytes('low'), 2_000);
    await feed.putIndexPart('b', 255, bytes('own'), 2_000);
    assert.equal(await feed.indexPart('a', 255), bytes('new'));
    assert.equal(await feed.indexPart('a', 0), bytes('low'));
    await feed.erase('a');
    await feed.putIndexPart('a', 255, bytes('late'), 3_000);
    assert.is(await feed.indexPart('a', 255), undefined);
    assert.is(await feed.indexPart('a', 0), undefined);
    assert.equal(await feed.indexPart('b', 255), bytes('own'));
  });
}

function erasing(feeds: Test, open: Open): void {
  feeds('stay erased with their chunks, despite late writes', async () => {
    const feed = await open();
    const checkpoint = feedCheckpoint('a', 4, 2 * FEED_CHUNK_ROWS);
    await store(feed, checkpoint);
    await store(feed, { ...checkpoint, accountId: 'b' });
    for (let times = 0; times < 2; times += 1) await feed.erase('a');
    assert.equal(await numbersOf(feed, 'a'), []);
    for (const late of [checkpoint, feedCheckpoint('a', 1_000, 3 * FEED_CHUNK_ROWS)]) {
      await store(feed, late);
      assert.is(await feed.readHead('a'), undefined);
      assert.equal(await numbersOf(feed, 'a'), []);
    }
    assert.equal(await feed.readHead('b'), checkpoint.head);
    assert.equal(await numbersOf(feed, 'b'), [0, 1]);
    await feed.erase('never stored');
  });

  feeds('stay erased in all partitions, also in the partition of delayed chunks', async () => {
    const feed = await open();
    const next = 1_535 * FEED_CHUNK_ROWS;
    const checkpoint = feedCheckpoint('a', 1, next, { floor: next - 1_024 * FEED_CHUNK_ROWS });
    const some = [511, 512, 1_023, 1_024, 1_534].map(feedChunk);
    await store(feed, { ...checkpoint, chunks: some });
    assert.is((await numbersOf(feed, 'a')).length, some.length);
    await feed.erase('a');
    await store(feed, feedCheckpoint('a', 2, next + 3 * FEED_CHUNK_ROWS, { firstChunk: 1_534 }));
    assert.equal(await numbersOf(feed, 'a'), []);
  });
}
