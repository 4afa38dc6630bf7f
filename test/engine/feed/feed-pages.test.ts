import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Feed, type LookFrom } from '#engine/feed/feed';
import { newestFirstAnswer } from '#engine/feed/newest-first';
import { feedAnswer } from '#engine/feed/pages';
import { bodyText, type FeedQuestion } from '#grpc/engine-messages';
import { memoryFeedStore } from '#storage/memory/feeds';
import { FEED_AGE_MS, FEED_CHUNK_ROWS, FEED_ROWS_MAX, type FeedRow } from '#storage/ports/feeds';
import { eventsIn } from '#test/support/calls/event-reader';
import { refusalOf } from '#test/support/settled';

const START_MS = Date.UTC(2026, 0, 15, 12);
const ALL = 2 ** 8 - 1;

/** A row with two transitions: a stress change and a change of actions. */
const rowOf = (n: number): FeedRow => [
  `inst_${n}`,
  n + 1,
  START_MS,
  [
    [6, n, 1, 0],
    [7, n, 17, 1],
  ],
];

/** A feed with `count` rows; the whole chunks are in the store, if `isStored`. */
async function newScene(count: number, { isStored = true } = {}) {
  const store = memoryFeedStore();
  const feed = new Feed(undefined, FEED_ROWS_MAX);
  const clock = { nowMs: START_MS };
  let version = 0;
  const take = async (rows: readonly FeedRow[]) => {
    version += 1;
    feed.take({ rows, atMs: clock.nowMs }, version);
    if (!isStored) return;
    const copy = feed.copy('acc');
    await store.checkpoint([copy]);
    feed.forget(copy);
  };
  await take(Array.from({ length: count }, (_, n) => rowOf(n)));
  const usual = {
    ...({ from: 'oldest', limit: 100, types: ALL } as const),
    ...{ isStream: false, waitMs: 0, isNewestFirst: false },
  };
  const look = async (from: LookFrom, most: number) => feed.view(from, most, clock.nowMs);
  const ask = async (question: Partial<FeedQuestion> = {}, accountId = 'acc') => {
    const parts = { accountId, store, look };
    const asked = { ...usual, cursor: undefined, ...question };
    return await (asked.isNewestFirst ? newestFirstAnswer : feedAnswer)(asked, parts);
  };
  const page = async (question: Partial<FeedQuestion> = {}) => {
    const { data, pagination } = JSON.parse(bodyText(await ask(question)));
    const ids: string[] = data.map(({ id }: { id: string }) => id);
    const { next_cursor: cursor, newer_cursor: newer, has_more: hasMore } = pagination;
    return { ids, cursor: cursor as string, newer: newer as string, hasMore };
  };
  /** Ids of all events, read with pages of `limit`. */
  const walk = async (limit: number, types = ALL, isNewestFirst = false) => {
    const ids: string[] = [];
    let next = await page({ limit, types, isNewestFirst });
    for (;;) {
      ids.push(...next.ids);
      if (!next.hasMore) return ids;
      next = await page({ limit, types, isNewestFirst, cursor: next.cursor });
    }
  };
  return { feed, store, clock, take, ask, page, walk };
}

const idsOf = (count: number, indexes = [0, 1]) =>
  Array.from({ length: count }, (_, n) => indexes.map((i) => `inst_${n}-${n + 1}-${i}`)).flat();

const walking = suite('a walk through the pages of a feed');

for (const isStored of [true, false]) {
  for (const limit of [1, 2, 3, 1_000]) {
    const where = isStored ? 'stored chunks and memory' : 'memory';
    walking(`shows each event once, from ${where}, ${limit} at a time`, async () => {
      const count = limit < 100 ? 20 : 3 * FEED_CHUNK_ROWS + 7;
      const { walk } = await newScene(count, { isStored });
      assert.equal(await walk(limit), idsOf(count));
    });
  }
}

walking('crosses from a stored chunk to memory', async () => {
  const count = FEED_CHUNK_ROWS + 2;
  const { walk } = await newScene(count);
  assert.equal(await walk(7), idsOf(count));
});

walking('finds rare types behind many rows, and ends', async () => {
  const { walk } = await newScene(3_000);
  assert.equal((await walk(1_000, 1 << 6)).length, 3_000);
  assert.equal(await walk(1_000, 1 << 0), [], 'no row has this type');
});

const backwards = suite('a walk from the newest to the oldest event of a feed');

for (const isStored of [true, false]) {
  for (const limit of [1, 2, 3, 1_000]) {
    const where = isStored ? 'stored chunks and memory' : 'memory';
    backwards(`shows each event once, from ${where}, ${limit} at a time`, async () => {
      const count = limit < 100 ? 20 : 3 * FEED_CHUNK_ROWS + 7;
      const { walk } = await newScene(count, { isStored });
      assert.equal(await walk(limit, ALL, true), idsOf(count).reverse());
    });
  }
}

backwards('finds rare types behind many rows, and ends', async () => {
  const { walk } = await newScene(3_000);
  assert.equal((await walk(1_000, 1 << 6, true)).length, 3_000);
  assert.equal(await walk(1_000, 1 << 0, true), [], 'no row has this type');
});

backwards('of an empty feed has no event, and ends', async () => {
  const { walk } = await newScene(0);
  assert.equal(await walk(10, ALL, true), []);
});

// The log of a page begins at the newest event, and then follows the stream.
backwards('has cursors at which the events after each page follow', async () => {
  const { page, take } = await newScene(3);
  const newest = await page({ isNewestFirst: true, limit: 2 });
  const older = await page({ isNewestFirst: true, limit: 1, cursor: newest.cursor });
  assert.is(older.newer, newest.cursor);
  await take([rowOf(3)]);
  const ids = idsOf(4);
  assert.equal((await page({ cursor: newest.newer })).ids, ids.slice(6));
  assert.equal((await page({ cursor: newest.cursor })).ids, ids.slice(4));
  assert.equal((await page({ cursor: older.cursor })).ids, ids.slice(3));
});

backwards('ends at the oldest event that is still kept', async () => {
  const { page, clock, take } = await newScene(2);
  clock.nowMs += FEED_AGE_MS + 3_600_000;
  await take([rowOf(2)]);
  const { ids, hasMore } = await page({ isNewestFirst: true });
  assert.equal([ids, hasMore], [idsOf(3).slice(4).reverse(), false]);
});

const cursors = suite('a cursor of a feed');

cursors('continues after the rows that came later', async () => {
  const { page, take } = await newScene(3);
  const { cursor, hasMore } = await page();
  assert.is(hasMore, false);
  await take([rowOf(3)]);
  assert.equal((await page({ cursor })).ids, idsOf(4).slice(6));
});

cursors('expires with the rows after it', async () => {
  const { page, clock, take } = await newScene(2);
  const { cursor } = await page({ limit: 1 });
  const { cursor: end } = await page();
  clock.nowMs += FEED_AGE_MS + 3_600_000;
  assert.is((await refusalOf(() => page({ cursor }))).message.includes('start=oldest'), true);
  assert.equal((await page({ cursor: end })).ids, [], 'a reader at the end has missed nothing');
  await take([rowOf(9)]);
  assert.equal((await page()).ids, idsOf(10).slice(18));
});

// After a restore from a backup, positions are given a second time.
cursors('expires when another row has its position', async () => {
  const { page } = await newScene(5);
  const { cursor } = await page({ limit: 9 });
  const restored = await newScene(3);
  await restored.take([rowOf(77), rowOf(78), rowOf(79)]);
  assert.match((await refusalOf(() => restored.page({ cursor }))).message, 'no longer kept');
  const ahead = (await page()).cursor;
  const shorter = await newScene(2);
  assert.match((await refusalOf(() => shorter.page({ cursor: ahead }))).message, 'no longer kept');
});

cursors('of another account, or damaged, is invalid', async () => {
  const { page, ask } = await newScene(2);
  const { cursor } = await page({ limit: 1 });
  for (const text of [`${cursor}A`, 'WzEsMCwxLDFd', 'e30', '']) {
    assert.match((await refusalOf(() => ask({ cursor: text }))).message, 'not a cursor', text);
  }
  assert.match((await refusalOf(() => ask({ cursor }, 'other'))).message, 'not a cursor');
});

const damaged = suite('a feed without one of its chunks');

damaged('fails, instead of leaving out rows', async () => {
  const { page, store } = await newScene(3 * FEED_CHUNK_ROWS);
  store.readChunks = async () => [];
  assert.match((await refusalOf(() => page())).message, 'chunks of the feed of acc are missing');
});

const streams = suite('a stream of a feed');

streams('names each event, and ends with a cursor behind hidden rows', async () => {
  const { ask } = await newScene(2);
  const answer = await ask({ isStream: true, types: 1 << 6 });
  const events = eventsIn(bodyText(answer));
  assert.equal(
    events.map(({ event, data }) => [event, data?.id]),
    [
      ['stress_changed', 'inst_0-1-0'],
      ['stress_changed', 'inst_1-2-0'],
      [undefined, undefined],
    ],
  );
  assert.is(events.at(-1)?.idText, answer.next);
  const rest = await ask({ isStream: true, cursor: answer.next });
  assert.is(rest.isQuiet, true);
});

streams('resumes after each of its events', async () => {
  const { ask } = await newScene(3);
  const whole = eventsIn(bodyText(await ask({ isStream: true })));
  for (const [n, { idText: cursor }] of whole.slice(0, -1).entries()) {
    const rest = eventsIn(bodyText(await ask({ isStream: true, cursor })));
    assert.equal(
      rest.flatMap(({ data }) => data?.id ?? []),
      idsOf(3).slice(n + 1),
    );
  }
});

streams('says gap, and goes on at the oldest row, when its cursor has expired', async () => {
  const { ask, page, clock, take } = await newScene(2);
  const { cursor } = await page({ limit: 1 });
  clock.nowMs += FEED_AGE_MS + 3_600_000;
  await take([rowOf(2)]);
  const events = eventsIn(bodyText(await ask({ isStream: true, cursor })));
  assert.equal(
    events.slice(0, 2).map(({ event, data }) => [event, data.id ?? data.reason]),
    [
      ['gap', 'cursor_expired'],
      ['stress_changed', 'inst_2-3-0'],
    ],
  );
  // A reader that stores the cursor of the gap does not get the same gap again.
  const again = eventsIn(bodyText(await ask({ isStream: true, cursor: events[0]?.idText })));
  assert.is(again[0]?.event, 'stress_changed');
});

for (const group of [walking, backwards, cursors, damaged, streams]) group.run();
