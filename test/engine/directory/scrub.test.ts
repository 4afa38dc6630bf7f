import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { AccountListing } from '#engine/directory/account-listing';
import { FleetIndex, type IndexedValues } from '#engine/directory/fleet-index';
import { Indexer } from '#engine/directory/indexer';
import { Scrub } from '#engine/directory/scrub';
import { Feed } from '#engine/feed/feed';
import { faultFor } from '#errors/fault';
import { stressIn, TRANSITIONS } from '#identity/transitions';
import { memoryFeedStore } from '#storage/memory/feeds';
import type { FeedRow } from '#storage/ports/feeds';
import { createMetrics } from '#telemetry/metrics';
import { ManualClock } from '#test/support/manual-clock';
import { pass } from '#test/support/passing';

const STRESS_CHANGED = TRANSITIONS.indexOf('stress_changed');
const INSTANCES = 6;

/** Time of a round of a small account, and of a round with the time of a suspicion, in ms. */
const ROUND_MS = 62_000;
const LOST_MS = 2 * ROUND_MS;

type Column = Int32Array | Uint32Array | Float64Array;

/** Columns of an index, in the order in which `FleetIndex` allocates them. */
const COLUMNS = { flags: 0, flagsVersion: 1, changedAtMs: 2, tags: 3, tagsVersion: 4 };

/** Records the columns that are allocated until the end of the scope. */
function allocatedColumns() {
  const columns: Column[] = [];
  const before = { Int32Array, Uint32Array, Float64Array };
  const keep = (column: Column) => {
    if (column.length >= 1_024) columns.push(column);
    return column;
  };
  const recording = (kind: typeof Int32Array | typeof Uint32Array | typeof Float64Array) =>
    new Proxy(kind, { construct: (made, args) => keep(Reflect.construct(made, args)) });
  Object.assign(globalThis, {
    Int32Array: recording(Int32Array),
    Uint32Array: recording(Uint32Array),
    Float64Array: recording(Float64Array),
  });
  return { columns, [Symbol.dispose]: () => void Object.assign(globalThis, before) };
}

type Truth = IndexedValues & { readonly createdAtMs: number };

/** Instances of an account at their owners, and the listing of the account. */
function ownersOf(clock: ManualClock) {
  const listing = new AccountListing();
  const truths = new Map<string, Truth>();
  const truthAt = (n: number) => {
    const truth = truths.get(idOf(n));
    if (truth === undefined) throw new Error(`there is no instance ${n}`);
    return truth;
  };
  /** Delivers the message of an instance to the directory. */
  const put = (n: number) => {
    const { version, createdAtMs, tagsJson } = truthAt(n);
    const row = { instanceId: idOf(n), version, name: 'a', createdAtMs };
    listing.put(row, tagsJson, clock.wallMs());
  };
  /** Changes an instance. Returns the row of the feed. */
  const change = (n: number, changed: Partial<IndexedValues>): FeedRow => {
    const before = truthAt(n);
    const now = { ...before, version: before.version + 1, changedAtMs: clock.wallMs(), ...changed };
    truths.set(idOf(n), now);
    const transition = [STRESS_CHANGED, 1, now.flags, before.flags];
    return [idOf(n), now.version, now.changedAtMs, [transition]];
  };
  for (let n = 0; n < INSTANCES; n += 1) {
    const tagsJson = `{"team":"t${n % 2}"}`;
    const times = { createdAtMs: n, changedAtMs: n };
    truths.set(idOf(n), { version: 5, flags: n % 4, tagsJson, ...times });
    put(n);
  }
  return { listing, truths, truthAt, put, change };
}

/** Answer of owners that have deleted all instances. */
const NOTHING = { values: new Map(), unanswered: new Set<string>() };

/** An account whose index is complete and in use, with its owners and its feed. */
async function sceneOf() {
  const clock = new ManualClock(1_000_000);
  const metrics = createMetrics();
  const feed = new Feed(undefined, 1_000);
  const owners = ownersOf(clock);
  const { listing, truths } = owners;
  let batch = 0;
  let looked: Promise<void> | undefined;
  const hooks = { answering: async (): Promise<void> => undefined };
  const indexer = new Indexer({
    ...{ clock, metrics, store: memoryFeedStore(), mayIndex: () => true },
    useListing: async (_, use) => use(listing),
    look: async (_, from, rows) => {
      await looked;
      return feed.view(from, rows, clock.wallMs());
    },
    indexedOf: async (_, ids) => {
      const found = ids.flatMap((id) => {
        const truth = truths.get(id);
        return truth === undefined ? [] : [[id, truth] as const];
      });
      try {
        await hooks.answering();
      } catch {
        return { values: new Map(), unanswered: new Set(ids) };
      }
      return { values: new Map(found), unanswered: new Set() };
    },
  });
  using allocated = allocatedColumns();
  await indexer.ready('a');
  const { columns } = allocated;
  return {
    ...owners,
    hooks,
    refresh: () => indexer.ready('a'),
    record: (...rows: FeedRow[]) => {
      batch += 1;
      feed.take({ atMs: clock.wallMs(), rows }, batch);
    },
    /** Delays the answers of the feed until the returned function is called. */
    stall: () => {
      const { promise, resolve } = Promise.withResolvers<void>();
      looked = promise;
      return resolve;
    },
    /** Changes one bit of an instance's value in the memory of the index. */
    flip: (n: number, name: keyof typeof COLUMNS, bit: number) => {
      const column = columns[COLUMNS[name]];
      const slot = listing.rowOf(idOf(n))?.slot;
      if (column === undefined || slot === undefined) throw new Error('there is no such value');
      const bytes = new Uint8Array(column.buffer);
      const at = slot * column.BYTES_PER_ELEMENT + (bit >>> 3);
      bytes[at] = (bytes[at] ?? 0) ^ (1 << (bit & 7));
    },
    waits: (durationMs: number) => pass(clock, durationMs, 500),
    repairs: async () => {
      const { text } = await metrics.scrape();
      const found = text.matchAll(/^index_repairs_total\{reason="(\w+)"\} (\d+)$/gm);
      return Object.fromEntries([...found].map(([, reason, count]) => [reason, Number(count)]));
    },
    /** Differences between the answers of the index and the owners. */
    differences: () => differencesIn(listing, truths),
  };
}

const idOf = (n: number) => `inst_${String(n).padStart(16, '0')}`;

function differencesIn(listing: AccountListing, truths: ReadonlyMap<string, Truth>): string[] {
  const { index } = listing;
  if (index === undefined) return ['no index'];
  const held = [...truths.keys()].map((id) => {
    const row = listing.rowOf(id);
    const { flags, changedAtMs, tagsJson, flagsVersion = 0 } = (row && index.heldOf(row)) ?? {};
    return {
      flags,
      changedAtMs,
      tagsJson,
      isTooHigh: flagsVersion > (truths.get(id)?.version ?? 0),
    };
  });
  const wanted = [...truths.values()].map(({ flags, changedAtMs, tagsJson }) => {
    return { flags, changedAtMs, tagsJson, isTooHigh: false };
  });
  const stress = [0, 1, 2, 3].map(
    (state) => wanted.filter((w) => stressIn(w.flags) === state).length,
  );
  const teams = Map.groupBy(wanted, ({ tagsJson }) => tagsJson);
  const tags = [...teams].map(([json, { length }]) => `${JSON.parse(json).team}=${length}`).sort();
  const counts = index
    .tagCounts(9)
    .tags.map(({ value, count }) => `${value}=${count}`)
    .sort();
  const facets = index.facets(listing.total);
  return [
    ...held.flatMap((one, at) => {
      const [text, right] = [one, wanted[at]].map((value) => JSON.stringify(value));
      return text === right ? [] : [`${text} for ${right}`];
    }),
    ...(facets.stress.join() === stress.join() ? [] : [`stress ${facets.stress} for ${stress}`]),
    ...(facets.unknown === 0 ? [] : [`${facets.unknown} unknown`]),
    ...(counts.join() === tags.join() ? [] : [`tags ${counts} for ${tags}`]),
  ];
}

const NONE = { damaged: 0, missed: 0, counters: 0 };

const damaged = suite('when a bit of an index has flipped');

// Each catches a part of the values that is not compared or not replaced.
for (const [name, bit] of [
  ['flags', 1],
  ['flags', 31],
  ['flagsVersion', 20],
  ['changedAtMs', 33],
  ['changedAtMs', 62],
  ['tags', 0],
  ['tags', 30],
  ['tagsVersion', 17],
] as const) {
  damaged(`bit ${bit} of ${name} is repaired within a round`, async () => {
    const { flip, waits, differences, repairs } = await sceneOf();
    await waits(ROUND_MS);
    flip(4, name, bit);
    await waits(ROUND_MS);
    assert.equal(differences(), []);
    await waits(ROUND_MS);
    assert.equal(await repairs(), { ...NONE, damaged: 1 });
  });
}

// Catches a number of a freed set that ends the call of an instance, and a counter that stays wrong
// after a value that was damaged has been replaced in the usual way (J3).
damaged('counters that a later change has made wrong are counted again', async () => {
  const { flip, change, put, record, waits, differences, repairs } = await sceneOf();
  await waits(ROUND_MS);
  flip(1, 'flags', 0);
  flip(1, 'tags', 9);
  record(change(1, { flags: 2, tagsJson: '{"team":"t0"}' }));
  put(1);
  await waits(1_000);
  assert.not.equal(differences(), []);
  await waits(ROUND_MS);
  assert.equal(differences(), []);
  assert.equal(await repairs(), { ...NONE, counters: 1 });
});

// Catches a version that hides later changes of the feed.
damaged('a version that is too low becomes right, and is no difference', async () => {
  const { flip, change, record, refresh, waits, truthAt, listing, repairs } = await sceneOf();
  record(change(2, { version: 9, flags: 3 }));
  await refresh();
  flip(2, 'flagsVersion', 3);
  await waits(ROUND_MS);
  const row = listing.rowOf(idOf(2));
  assert.is(row && listing.index?.heldOf(row)?.flagsVersion, truthAt(2).version);
  assert.equal(await repairs(), NONE);
});

const missed = suite('when a change does not arrive');

// Catches an index that only trusts the feed.
missed('a lost row of the feed is repaired', async () => {
  const { change, waits, differences, repairs } = await sceneOf();
  change(0, { flags: 2 });
  change(3, { flags: 1 });
  assert.not.equal(differences(), []);
  await waits(LOST_MS);
  assert.equal(differences(), []);
  assert.equal(await repairs(), { ...NONE, missed: 2 });
});

// Catches a suspicion about tags that each change of the flags ends.
missed('tags of a lost message are repaired while the flags change', async () => {
  const { change, record, waits, differences, repairs } = await sceneOf();
  change(0, { tagsJson: '{"team":"t9"}' });
  for (let second = 0; second < 130; second += 5) {
    record(change(0, { flags: second % 4 }));
    await waits(5_000);
  }
  await waits(1_000);
  assert.equal(differences(), []);
  assert.equal(await repairs(), { ...NONE, missed: 1 });
});

// Catches a late change that is taken for a lost one.
missed('a feed that is 10 s late causes no repair', async () => {
  const { change, record, refresh, waits, differences, repairs } = await sceneOf();
  // Nearly always, a change is on its way.
  for (let round = 0; round < 20; round += 1) {
    const rows = [change(0, { flags: (round + 1) % 4 }), change(4, { flags: round % 4 })];
    await waits(10_000);
    record(...rows);
    await waits(2_000);
  }
  await refresh();
  assert.equal(differences(), []);
  assert.equal(await repairs(), NONE);
});

// J1. Catches a suspicion that ends although the index has not read the feed since.
missed('rows and messages that come twice, in reverse and 10 min late converge', async () => {
  const { change, put, record, stall, waits, differences, repairs } = await sceneOf();
  await waits(ROUND_MS);
  const answer = stall();
  const ns = [0, 1, 2, 3];
  const rows = ns.map((n) => change(n, { flags: 3 - n, tagsJson: '{"team":"t7"}' }));
  const later = ns.map((n) => change(n, { flags: n % 2, tagsJson: '{"team":"t8"}' }));
  record(...[...rows, ...later].reverse(), ...rows, ...later);
  await waits(600_000);
  assert.equal(await repairs(), NONE);
  answer();
  for (const n of [...ns, ...ns].reverse()) put(n);
  await waits(LOST_MS);
  assert.equal(differences(), []);
  assert.equal(await repairs(), NONE);
});

const meanwhile = suite('while the owners are read');

// Catches an answer that brings back what was true before a change (J2).
meanwhile('a change after the answer stays, and damaged tags are repaired later', async () => {
  const { change, record, flip, waits, hooks, differences, repairs } = await sceneOf();
  await waits(ROUND_MS);
  flip(0, 'tags', 0);
  hooks.answering = async () => {
    hooks.answering = async () => undefined;
    record(change(0, { flags: 3, tagsJson: '{"team":"t0"}' }));
    await waits(3_000);
  };
  await waits(ROUND_MS);
  await waits(LOST_MS);
  assert.equal(differences(), []);
  // The version of the damaged tags is lower than the owner's now, so they may be late.
  assert.equal(await repairs(), { ...NONE, missed: 1, counters: 1 });
});

// Catches a failing owner whose instances are taken for deleted, and a scrub that ends.
meanwhile('an owner that fails is no difference', async () => {
  const { flip, waits, hooks, differences, repairs } = await sceneOf();
  hooks.answering = async () => {
    throw faultFor('engine_unavailable', 'x');
  };
  await waits(ROUND_MS);
  assert.equal([differences(), await repairs()], [[], NONE]);
  hooks.answering = async () => undefined;
  flip(5, 'flags', 0);
  await waits(ROUND_MS);
  assert.equal(differences(), []);
  assert.equal(await repairs(), { ...NONE, damaged: 1 });
});

// Catches an alert about an unreadable instance that does not end when the instance is restored.
meanwhile('an instance that is readable again gets its values', async () => {
  const { truths, put, truthAt, waits, differences, repairs } = await sceneOf();
  const restored = { ...truthAt(1), flags: 3 };
  truths.set(idOf(8), restored);
  put(8);
  truths.delete(idOf(8));
  await waits(ROUND_MS);
  truths.set(idOf(8), restored);
  assert.not.equal(differences(), []);
  await waits(ROUND_MS);
  assert.equal(differences(), []);
  assert.equal(await repairs(), NONE);
});

// Catches a deleted instance that comes back into the counters, and a new one that is repaired.
meanwhile('an instance that is deleted or created is no difference', async () => {
  const { truths, put, truthAt, listing, waits, hooks, differences, repairs } = await sceneOf();
  await waits(ROUND_MS);
  hooks.answering = async () => {
    hooks.answering = async () => undefined;
    listing.remove(idOf(2), truthAt(2).version + 1);
    truths.delete(idOf(2));
    // The new instance gets the slot of the deleted one.
    truths.set(idOf(8), { ...truthAt(1), version: 1, flags: 3 });
    put(8);
    await waits(2_000);
  };
  await waits(ROUND_MS);
  await waits(ROUND_MS);
  assert.equal(differences(), []);
  assert.equal(await repairs(), NONE);
});

// Catches the values of an index that is no longer in use.
meanwhile('another index may be built', async () => {
  const { listing, flip, waits, hooks, repairs } = await sceneOf();
  await waits(ROUND_MS);
  flip(0, 'flags', 0);
  hooks.answering = async () => {
    hooks.answering = async () => undefined;
    listing.startIndex(undefined);
    await waits(2_000);
  };
  await waits(ROUND_MS);
  assert.equal(await repairs(), NONE);
});

const large = suite('when accounts have more instances than a step reads');

/** An account with 1,024 instances and a complete index. */
function largeListing(): AccountListing {
  const listing = new AccountListing();
  const index = new FleetIndex({ position: 0, digest: 0, atMs: 0 });
  listing.startIndex(index);
  for (let n = 0; n < 1_024; n += 1) {
    listing.put({ instanceId: idOf(n), version: 1, name: 'a', createdAtMs: n });
  }
  index.walk(listing.rowsAfter('', 1_024), 0);
  index.walk([], 0);
  for (const row of listing.rowsAfter('', 1_024)) {
    index.learn(row, { version: 1, flags: 0, changedAtMs: 0, tagsJson: '{}' }, 0);
  }
  index.complete();
  return listing;
}

// Catches counters that are not compared after a round whose last step was full.
large('the counters are compared after the last step', async () => {
  const clock = new ManualClock(1_000_000);
  using allocated = allocatedColumns();
  const listing = largeListing();
  const [row] = listing.rowsAfter('', 1);
  const column = allocated.columns[COLUMNS.flags];
  if (row === undefined || column === undefined) throw new Error('the index is empty');
  column[row.slot] = 3;
  listing.index?.learn(row, { version: 2, flags: 1, changedAtMs: 0, tagsJson: '{}' }, 0);
  assert.not.equal(listing.index?.facets(1_024).stress, [1_023, 1, 0, 0]);
  const scrub = new Scrub({
    ...{ clock, metrics: createMetrics() },
    use: async (_, use) => use(listing),
    indexedOf: async () => NOTHING,
  });
  for (let second = 0; second < 3; second += 1) {
    scrub.step(new Set(['a']));
    await pass(clock, 1_000, 1_000);
  }
  assert.equal(listing.index?.facets(1_024).stress, [1_023, 1, 0, 0]);
});

// Catches reads that grow with the accounts, an account that waits for ever, and a round that does
// not reach its last instance or does not begin again.
large('each step reads 512 of them, and every instance has its turn in each round', async () => {
  const clock = new ManualClock(1_000_000);
  const listings = new Map(['a', 'b'].map((id) => [id, largeListing()]));
  let reads: string[] = [];
  const scrub = new Scrub({
    ...{ clock, metrics: createMetrics() },
    use: async (accountId, use) => use(listings.get(accountId) ?? new AccountListing()),
    indexedOf: async (accountId, ids) => {
      reads.push(...ids.map((id) => `${accountId}${id}`));
      return NOTHING;
    },
  });
  for (let round = 0; round < 2; round += 1) {
    const perStep: number[] = [];
    const all = new Set<string>();
    for (let second = 0; second < 60; second += 1) {
      reads = [];
      scrub.step(new Set(listings.keys()));
      await pass(clock, 1_000, 1_000);
      perStep.push(reads.length);
      for (const id of reads) all.add(id);
    }
    assert.equal(perStep.slice(0, 6), [512, 512, 512, 512, 0, 0]);
    assert.is(all.size, 2_048);
  }
});

for (const group of [damaged, missed, meanwhile, large]) group.run();
