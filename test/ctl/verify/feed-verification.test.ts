import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { memoryFeedStore } from '#storage/memory/feeds';
import { CorruptState } from '#storage/ports/bytes';
import {
  type ErasableFeeds,
  FEED_AGE_MS,
  FEED_CHUNK_ROWS,
  type FeedRow,
} from '#storage/ports/feeds';
import { clusterInMemory } from '#test/ctl/cluster-fixture';
import { ctl } from '#test/ctl/ctl-run';
import { ACCOUNT_ID } from '#test/engine/instance/instance-fixture';
import {
  FEED_START_MS,
  feedCheckpoint,
  feedHead,
  feedRow,
} from '#test/storage/contracts/feed-records';
import { ManualClock } from '#test/support/manual-clock';

const HOUR_MS = 3_600_000;

/** More chunks than one read. The rows are of six hours, each with about 14 chunks. */
const CHUNKS = 80;

/** Row position after the chunks and three rows in the head. */
const NEXT = CHUNKS * FEED_CHUNK_ROWS + 3;

/** Stores a feed without the chunks in `missing`. */
async function feedWithout(missing: readonly number[] = [], floor = 0): Promise<ErasableFeeds> {
  const feeds = memoryFeedStore();
  const { chunks, ...whole } = feedCheckpoint(ACCOUNT_ID, 5, NEXT, { floor });
  const kept = chunks.filter(({ chunk }) => !missing.includes(chunk));
  await feeds.checkpoint([{ ...whole, chunks: kept }]);
  return feeds;
}

async function verify(feeds: ErasableFeeds, nowMs = FEED_START_MS + 6 * HOUR_MS) {
  await using cluster = await clusterInMemory([]);
  const ports = { ...cluster.ports, feeds, clock: new ManualClock(nowMs) };
  const { code, out, err } = await ctl(['feed', 'verify', ACCOUNT_ID, '--json'], {
    cluster: ports,
  });
  const data = code === 0 || code === 3 ? JSON.parse(out) : undefined;
  return { code, err, data };
}

const feed = suite('ctl feed verify');

feed('reads every row from the floor on, in several reads', async () => {
  const floor = 3 * FEED_CHUNK_ROWS + 100;
  const { code, data } = await verify(await feedWithout([], floor));
  assert.is(code, 0);
  assert.equal(data, {
    ...{ account: ACCOUNT_ID, version: 5, floor, next: NEXT },
    ...{ rows: NEXT - 3 * FEED_CHUNK_ROWS, expired_chunks: 0, repeated_rows: 0, findings: [] },
  });
});

feed('prints the counts and the result', async () => {
  await using cluster = await clusterInMemory([]);
  await cluster.stores.feeds.checkpoint([feedCheckpoint(ACCOUNT_ID, 5, 300)]);
  const clock = new ManualClock(FEED_START_MS);
  const ports = { ...cluster.ports, clock };
  const { code, out } = await ctl(['feed', 'verify', ACCOUNT_ID], { cluster: ports });
  assert.is(code, 0);
  assert.match(out, /^ACCOUNT +VERSION +FLOOR +NEXT +ROWS +REPEATED\n/);
  assert.match(
    out,
    /\nAll other rows are readable, and no change of an instance is missing between them\.$/,
  );
});

feed('reports missing chunks', async () => {
  const { code, data } = await verify(await feedWithout([4, 79]));
  assert.equal([code, data.findings], [3, ['chunk 4 is missing', 'chunk 79 is missing']]);
  assert.is(data.rows, NEXT - 2 * FEED_CHUNK_ROWS);
});

feed('accepts missing chunks only if all their rows are older than seven days', async () => {
  // The first hour has 3,600 rows: all rows of the chunks 0 to 13, and a part of chunk 14.
  const feeds = await feedWithout([0, 13, 14]);
  const firstHourOverMs = FEED_START_MS + HOUR_MS + FEED_AGE_MS;
  const before = await verify(feeds, firstHourOverMs - 1);
  assert.equal([before.code, before.data.expired_chunks], [3, 0]);
  const { code, data } = await verify(feeds, firstHourOverMs);
  assert.equal([code, data.expired_chunks, data.findings], [3, 2, ['chunk 14 is missing']]);
});

feed('reports a damaged chunk, and reads all other chunks', async () => {
  const feeds = await feedWithout();
  const damaged: ErasableFeeds = {
    ...feeds,
    readChunks(accountId, first, last) {
      if (first > 66 || last < 66) return feeds.readChunks(accountId, first, last);
      throw new CorruptState('chunk 66 of the feed cannot be read');
    },
  };
  const { code, data } = await verify(damaged);
  assert.equal([code, data.findings], [3, ['chunk 66 of the feed cannot be read']]);
  assert.is(data.rows, NEXT - FEED_CHUNK_ROWS);
});

feed('reports a lost change, and counts repeated rows', async () => {
  const feeds = memoryFeedStore();
  const whole = feedCheckpoint(ACCOUNT_ID, 5, FEED_CHUNK_ROWS + 3);
  const [instanceId, version, atMs] = feedRow(258);
  const lost: FeedRow = [instanceId, version + 1, atMs, [[6, 9, 99, 98]]];
  const newest = whole.head.newest.with(1, feedRow(256)).with(2, lost);
  await feeds.checkpoint([{ ...whole, head: { ...whole.head, newest } }]);
  const { code, data } = await verify(feeds);
  assert.equal([code, data.repeated_rows], [3, 1]);
  const what = `version ${version + 1} of ${instanceId} does not continue version ${version - 1}`;
  assert.equal(data.findings, [`the row at position 258: ${what}`]);
});

feed('begins again if the floor moves during the check', async () => {
  const feeds = await feedWithout();
  let reads = 0;
  const moving: ErasableFeeds = {
    ...feeds,
    async readChunks(...range) {
      reads += 1;
      const head = feedHead(6, NEXT, 3_600);
      if (reads === 1) await feeds.checkpoint([{ accountId: ACCOUNT_ID, head, chunks: [] }]);
      return await feeds.readChunks(...range);
    },
  };
  const { code, data } = await verify(moving);
  assert.equal([code, data.version, data.floor], [0, 6, 3_600]);
});

feed('lists at most 20 findings', async () => {
  const { data } = await verify(await feedWithout(Array.from({ length: 30 }, (_, chunk) => chunk)));
  assert.is(data.findings.length, 20);
});

feed('exits with 4 if the account has no feed, and with 1 if the head is damaged', async () => {
  const feeds = memoryFeedStore();
  const unknown = await verify(feeds);
  assert.equal([unknown.code, unknown.err], [4, `ctl: no feed of ${ACCOUNT_ID} is stored`]);
  const readHead = () => Promise.reject(new CorruptState('the feed cannot be read'));
  const damaged = await verify({ ...feeds, readHead });
  assert.equal([damaged.code, damaged.err], [1, 'ctl: the feed cannot be read']);
});

feed.run();
