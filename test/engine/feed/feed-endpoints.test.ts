import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { EventWaiters } from '#engine/events/pages';
import { type EndpointChange, Feed, type FeedRecord } from '#engine/feed/feed';
import { FeedKind } from '#engine/feed/kind';
import { memoryFeedStore } from '#storage/memory/feeds';
import { FEED_ROWS_MAX } from '#storage/ports/feeds';
import { keptEndpoint } from '#test/storage/contracts/feed-records';
import { ManualClock } from '#test/support/manual-clock';

const { endpoint, progress } = keptEndpoint('whk_1', 0);

const PUT: EndpointChange = { kind: 'put', endpoint, progress };

/** Feed after these changes, with the kind that applied them. */
function feedAfter(...changes: readonly EndpointChange[]) {
  const store = memoryFeedStore();
  const deliverers = { sync: () => undefined, wake: () => undefined };
  const kind = new FeedKind({ store, waiters: new EventWaiters(new ManualClock()), deliverers });
  const feed = new Feed(undefined, FEED_ROWS_MAX);
  const events = changes.map((change): FeedRecord => ({ atMs: 7, rows: [], change }));
  // The journal has the records as JSON.
  const read = events.map((event) => kind.read(JSON.parse(JSON.stringify(kind.recordOf(event)))));
  for (const [at, event] of read.entries()) kind.apply(feed, event, at + 1);
  return { store, kind, feed, read };
}

const endpoints = suite('the webhook endpoints of a feed');

endpoints('are the same after a replay of their records', () => {
  const { feed } = feedAfter(PUT);
  assert.equal(feed.endpoints, [{ endpoint, progress }]);
  assert.equal(feed.copy('acc').head.endpoints, [{ endpoint, progress }]);
});

endpoints('have the last settings and progress, and nothing after their removal', () => {
  const later = { ...progress, held: [], failed: [], failingSinceMs: 9 };
  const changed = { ...endpoint, url: 'https://other.example/' };
  const progressed = { kind: 'progressed', id: 'whk_1', progress: later } as const;
  const { feed } = feedAfter(PUT, progressed);
  assert.equal(feed.endpoints, [{ endpoint, progress: later }]);
  const put = { kind: 'put', endpoint: changed, progress } as const;
  assert.equal(feedAfter(PUT, progressed, put).feed.endpoints, [{ endpoint: changed, progress }]);
  const removed = { kind: 'removed', id: 'whk_1' } as const;
  assert.equal(feedAfter(PUT, removed, progressed).feed.endpoints, []);
});

// An engine that dies between the record of an endpoint and its listing would leave an endpoint
// that no later owner starts.
endpoints('are listed after the replay of their records, before the feed is stored', async () => {
  const { store, kind, feed, read } = feedAfter(PUT);
  await kind.effectAfterReplay('acc', feed, read)?.();
  assert.equal(await store.withEndpoints(store.bucketOf('acc')), ['acc']);
  const progressed = { kind: 'progressed', id: 'whk_1', progress } as const;
  const onlyProgress = read.map((event): FeedRecord => ({ ...event, change: progressed }));
  assert.is(kind.effectAfterReplay('acc', feed, onlyProgress), undefined);
});

endpoints.run();
