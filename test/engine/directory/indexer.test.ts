import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { AccountListing } from '#engine/directory/account-listing';
import type { IndexedValues } from '#engine/directory/fleet-index';
import { Indexer } from '#engine/directory/indexer';
import { Feed } from '#engine/feed/feed';
import { faultFor, toFault } from '#errors/fault';
import { TRANSITIONS } from '#identity/transitions';
import { memoryFeedStore } from '#storage/memory/feeds';
import type { FeedRow } from '#storage/ports/feeds';
import { createMetrics } from '#telemetry/metrics';
import { ManualClock } from '#test/support/manual-clock';
import { pass } from '#test/support/passing';
import { refusalOf, turnOfEvents } from '#test/support/settled';

const STRESS_CHANGED = TRANSITIONS.indexOf('stress_changed');
const VALUES: IndexedValues = { version: 1, flags: 1, changedAtMs: 5, tagsJson: '{}' };

type Values = ReadonlyMap<string, IndexedValues>;

type Read = (ids: readonly string[]) => Promise<Values>;

/** Owners whose answers a test replaces. */
function ownersOf() {
  const reads: (readonly string[])[] = [];
  let read: Read = async (ids) => new Map(ids.map((id) => [id, VALUES]));
  let isAnswered = (_id: string) => true;
  return {
    reads,
    indexedOf: async (_: string, ids: readonly string[]) => {
      reads.push(ids);
      const unanswered = new Set(ids.filter((id) => !isAnswered(id)));
      const answered = (values: Values) => ({ values, unanswered });
      const failed = () => ({ values: new Map(), unanswered: new Set(ids) });
      return read(ids.filter((id) => isAnswered(id))).then(answered, failed);
    },
    readWith: (other: Read) => {
      read = other;
    },
    /** Lets owners answer only for some instances. */
    readPartly: (isOwned: (id: string) => boolean) => {
      isAnswered = isOwned;
    },
  };
}

/** An indexer with a listing of some instances, a feed, and owners that `read` replaces. */
function sceneOf(count: number) {
  const clock = new ManualClock(1_000);
  const metrics = createMetrics();
  let listing = new AccountListing();
  const feed = new Feed(undefined, 100);
  let version = 0;
  const record = (...rows: FeedRow[]) => {
    version += 1;
    feed.take({ atMs: clock.wallMs(), rows }, version);
  };
  const fill = (into: AccountListing) => {
    for (let n = 0; n < count; n += 1) into.put(rowAt(n));
    return into;
  };
  fill(listing);
  const owners = ownersOf();
  let mayIndex = true;
  let before: (() => void) | undefined;
  let slow: Promise<void> | undefined;
  const indexer = new Indexer({
    clock,
    metrics,
    store: memoryFeedStore(),
    mayIndex: () => mayIndex,
    useListing: async (_, use) => {
      if (listing.index !== undefined) {
        before?.();
        before = undefined;
      }
      use(listing);
    },
    look: async (_, from, rows) => {
      const view = feed.view(from, rows, clock.wallMs());
      await slow;
      return view;
    },
    indexedOf: owners.indexedOf,
  });
  return {
    ...{ clock, metrics, indexer, record, ...owners },
    ready: () => indexer.ready('a'),
    /** Runs a function once, before a turn of the directory that uses an index. */
    putBefore: (task: () => void) => {
      before = task;
    },
    /** Delays the answers of the feed until the returned function is called. */
    slowDown: () => {
      const { promise, resolve } = Promise.withResolvers<void>();
      slow = promise;
      return resolve;
    },
    /** An engine of an earlier release joins, or has left for long enough. */
    allow: (isAllowed: boolean) => {
      mayIndex = isAllowed;
    },
    /** Evicts the directory, which is loaded again without an index. */
    evict: () => {
      listing = fill(new AccountListing());
    },
    facets: () => listing.index?.facets(listing.total).stress,
    put: (n: number) => listing.put(rowAt(n), '{}', clock.wallMs()),
    isComplete: () => listing.index?.isComplete === true,
  };
}

function rowAt(n: number) {
  const instanceId = `inst_${String(n).padStart(16, '0')}`;
  return { instanceId, version: 1, name: 'a', createdAtMs: n };
}

const changeOf = (n: number, version: number, flags: number): FeedRow => [
  ...([rowAt(n).instanceId, version, 9] as const),
  [[STRESS_CHANGED, 1, flags, 0]],
];

const reasonOf = async (asked: () => Promise<unknown>) => toFault(await refusalOf(asked)).reason;

const building = suite('while an index is built');

// Catches a position of the feed that is noted after the reads, and loses what happens between.
building('a change that an answer of an owner lacks is taken from the feed', async () => {
  const { ready, readWith, record, facets } = sceneOf(3);
  readWith(async (ids) => {
    record(changeOf(1, 2, 2));
    return new Map(ids.map((id) => [id, VALUES]));
  });
  await ready();
  assert.equal(facets(), [0, 2, 1, 0]);
});

// Catches an index with a lower count after an owner has failed (J6).
building('a call is refused until every owner has answered', async () => {
  const { ready, readWith, isComplete, facets } = sceneOf(1_000);
  let isBroken = true;
  readWith(async (ids) => {
    if (isBroken && ids.includes(rowAt(900).instanceId)) throw faultFor('engine_unavailable', 'x');
    return new Map(ids.map((id) => [id, VALUES]));
  });
  for (let attempt = 0; attempt < 3; attempt += 1) {
    assert.is(await reasonOf(ready), 'index_rebuilding');
    assert.not.ok(isComplete());
  }
  isBroken = false;
  await ready();
  assert.equal(facets(), [0, 1_000, 0, 0]);
});

// Catches a call that waits for a long build until its deadline.
building('a call waits a second, and the build goes on', async () => {
  const { ready, readWith, clock, isComplete } = sceneOf(2);
  const { promise, resolve } = Promise.withResolvers<void>();
  readWith(async (ids) => {
    await promise;
    return new Map(ids.map((id) => [id, VALUES]));
  });
  const asked = reasonOf(ready);
  await pass(clock, 1_000, 500);
  assert.is(await asked, 'index_rebuilding');
  resolve();
  await pass(clock, 100, 50);
  assert.ok(isComplete());
});

// Catches a build that never ends, or a damaged instance that hides the others.
building('a damaged instance is left out and counted', async () => {
  const { ready, readWith, facets, metrics } = sceneOf(2);
  readWith(async ([id = '']) => new Map([[id, VALUES]]));
  await ready();
  assert.equal(facets(), [0, 1, 0, 0]);
  assert.match((await metrics.scrape()).text, /^index_unreadable_instances 1$/m);
});

// Catches a mixed cluster in which some engines do not record their transitions.
building('the call waits for the upgrade of all engines', async () => {
  const { ready, allow } = sceneOf(1);
  allow(false);
  assert.is(await reasonOf(ready), 'upgrade_in_progress');
});

// Catches a build that begins again when one owner is away, and so never ends in rolling restarts.
building('the instances of the other owners are read although one owner is away', async () => {
  const { ready, readPartly, reads } = sceneOf(2_000);
  readPartly((id) => id !== rowAt(100).instanceId);
  assert.is(await reasonOf(ready), 'index_rebuilding');
  readPartly(() => true);
  const before = reads.length;
  await ready();
  assert.equal(reads.slice(before), [[rowAt(100).instanceId]]);
});

// Catches an assertion in a turn: the row came later than the clock was read.
building('a row that arrives while the directory is busy is read', async () => {
  const { clock, ready, put, putBefore, facets } = sceneOf(1);
  putBefore(() => {
    clock.advance(5);
    put(7);
  });
  const asked = ready();
  await pass(clock, 100, 10);
  await asked;
  assert.equal(facets(), [0, 2, 0, 0]);
});

// Catches tags that fill the memory of the engine, and a build for each call of such an account.
building('too many different tags are refused, without a build for each call', async () => {
  const { ready, readWith, reads, clock, isComplete } = sceneOf(3_000);
  const big = (id: string) => JSON.stringify({ text: `${id}${'x'.repeat(8_000)}` });
  readWith(async (ids) => new Map(ids.map((id) => [id, { ...VALUES, tagsJson: big(id) }])));
  assert.is(await reasonOf(ready), 'too_many_tags');
  assert.not.ok(isComplete());
  const before = reads.length;
  assert.is(await reasonOf(ready), 'too_many_tags');
  assert.is(reads.length, before);
  readWith(async (ids) => new Map(ids.map((id) => [id, VALUES])));
  clock.advance(61_000);
  await ready();
});

const kept = suite('when an index is complete');

// Catches an index that lacks the transitions of a time in which an engine did not record.
kept('it is not used after an engine of an earlier release has been there', async () => {
  const { ready, allow, clock, readWith, facets } = sceneOf(1);
  await ready();
  allow(false);
  readWith(async (ids) => new Map(ids.map((id) => [id, { ...VALUES, version: 5, flags: 2 }])));
  clock.advance(2_000);
  allow(true);
  await ready();
  assert.equal(facets(), [0, 0, 1, 0]);
});

// Catches such an index that was built while the engine came and left.
kept('it is not used if an engine of an earlier release came during the build', async () => {
  const { ready, allow, clock, readWith } = sceneOf(1);
  readWith(async (ids) => {
    allow(false);
    clock.advance(1_000);
    allow(true);
    return new Map(ids.map((id) => [id, VALUES]));
  });
  const asked = reasonOf(ready);
  await pass(clock, 100, 10);
  assert.is(await asked, 'index_rebuilding');
});

// Catches an answer that lacks what was recorded before the call.
kept('a call gets all changes that were recorded before it', async () => {
  const { ready, record, facets, reads, slowDown } = sceneOf(2);
  await ready();
  record(changeOf(0, 2, 3));
  const answer = slowDown();
  const first = ready();
  // The feed has answered the first call, and then gets a change.
  await turnOfEvents();
  record(changeOf(1, 2, 3));
  const second = ready();
  answer();
  await first;
  assert.equal(facets(), [0, 1, 0, 1]);
  await second;
  assert.equal(facets(), [0, 0, 0, 2]);
  assert.is(reads.length, 1, 'nothing is read again');
});

// Catches an instance that stays unknown because its creation came before the build.
kept('an instance whose creation the feed does not bring is read from its owner', async () => {
  const { ready, readWith, put, clock, facets, reads } = sceneOf(1);
  await ready();
  // The scrub, which reads all instances, gets no answer.
  readWith(async (ids) => {
    if (ids.length > 1) throw faultFor('engine_unavailable', 'x');
    return new Map(ids.map((id) => [id, VALUES]));
  });
  put(7);
  await ready();
  assert.equal([facets(), reads.length], [[0, 1, 0, 0], 1]);
  clock.advance(3_000);
  await ready();
  await pass(clock, 1_000, 500);
  assert.equal(facets(), [0, 2, 0, 0]);
  assert.equal(reads.at(-1), [rowAt(7).instanceId]);
});

// Catches a long way for the first call after a quiet time, and a timer that never ends.
kept('it is refreshed every second for ten minutes after the last call', async () => {
  const { ready, readWith, record, facets, clock, indexer } = sceneOf(1);
  await ready();
  record(changeOf(0, 2, 3));
  const changed = { ...VALUES, version: 2, flags: 3, changedAtMs: 9 };
  readWith(async (ids) => new Map(ids.map((id) => [id, changed])));
  await pass(clock, 2_000, 500);
  assert.equal(facets(), [0, 0, 0, 1]);
  await pass(clock, 11 * 60_000, 30_000);
  record(changeOf(0, 3, 2));
  await pass(clock, 5_000, 500);
  assert.equal(facets(), [0, 0, 0, 1]);
  indexer[Symbol.dispose]();
});

// Catches an index that continues at a position whose rows are gone.
kept('it is built again if the directory was evicted, or rows of the feed are gone', async () => {
  const { ready, record, evict, facets } = sceneOf(1);
  await ready();
  evict();
  await ready();
  assert.equal(facets(), [0, 1, 0, 0]);
  record(...Array.from({ length: 101 }, (_, n) => changeOf(99, n + 1, 0)));
  assert.is(await reasonOf(ready), 'index_rebuilding');
  await ready();
  assert.equal(facets(), [0, 1, 0, 0]);
});

for (const group of [building, kept]) group.run();
