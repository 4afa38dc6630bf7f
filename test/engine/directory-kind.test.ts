import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { ActorHost, ONE_SHARD } from '#actor-runtime/actor-host';
import { CommitLog } from '#actor-runtime/commit-log';
import { runtimeMetrics } from '#actor-runtime/runtime-metrics';
import { type DirectoryCall, DirectoryKind } from '#engine/directory/kind';
import type { Clock } from '#stdlib/clock';
import { memoryListingStore } from '#storage/memory/instances';
import { memoryJournal } from '#storage/memory/meters';
import { createMetrics } from '#telemetry/metrics';
import { ManualClock } from '#test/support/manual-clock';
import { turnOfEvents } from '#test/support/settled';

const UNHURRIED = { callId: 0, deadlineAtMs: Number.POSITIVE_INFINITY };
const PAGE = { limit: 10, offset: 0, sort: 'name', order: 'asc' } as const;

type CommandOf<Kind extends DirectoryCall['kind']> = Omit<
  Extract<DirectoryCall, { kind: Kind }>,
  keyof typeof UNHURRIED
>;

type Change = { readonly kind: 'put' | 'remove'; readonly id: string; readonly version: number };

/** A directory on a real host, and the store from which the directory loads. */
function directoryUnderTest(clockOf: (own: ManualClock) => Clock = (own) => own) {
  const clock = new ManualClock();
  const listings = memoryListingStore();
  const host = new ActorHost(
    new DirectoryKind(listings, clockOf(clock)),
    { idleAgeMs: 30_000, memoryBytesMax: 1_000_000 },
    {
      clock,
      log: new CommitLog(memoryJournal(), clock),
      gate: ONE_SHARD,
      metrics: runtimeMetrics(createMetrics(), 'engine', 'directory'),
      onBug: (error) => {
        throw error;
      },
    },
  );
  const ask = async (
    call: CommandOf<'put'> | CommandOf<'remove'> | CommandOf<'reserve'> | CommandOf<'page'>,
  ) => host.ask('a', { ...call, ...UNHURRIED });
  /** Makes a change as an instance does: first in the store, then in the directory. */
  const change = async ({ kind, id: instanceId, version }: Change) => {
    if (kind === 'remove') {
      await listings.remove('a', instanceId, version);
      return ask({ kind, instanceId, version });
    }
    await listings.put('a', rowOf(instanceId, version));
    return ask({ kind, accountId: 'a', row: rowOf(instanceId, version) });
  };
  return { clock, listings, host, ask, change };
}

/** Changes to two instances: one put per version, optionally with a removal last. */
function arbitraryChanges(): fc.Arbitrary<Change[]> {
  const history = (id: string) =>
    fc
      .record({ puts: fc.uniqueArray(fc.integer({ min: 1, max: 5 })), isRemoved: fc.boolean() })
      .map(({ puts, isRemoved }): Change[] => [
        ...puts.map((version) => ({ kind: 'put', id, version }) as const),
        ...(isRemoved ? [{ kind: 'remove', id, version: 6 } as const] : []),
      ]);
  return fc.tuple(history('inst_1'), history('inst_2')).map((all) => all.flat());
}

async function rowsAfter(history: readonly Change[]): Promise<unknown> {
  const { change, ask } = directoryUnderTest();
  for (const one of history) await change(one);
  const { total, rows } = await ask({ kind: 'page', page: PAGE });
  return { total, rows: rows.map(({ instanceId, version }) => [instanceId, version]) };
}

function rowOf(instanceId: string, version: number) {
  return { instanceId, version, name: instanceId, description: '', createdAtMs: 5 };
}

const notified = suite('when a directory is notified of changes');

notified('a late change does not restore a removed instance', async () => {
  const { change, ask } = directoryUnderTest();
  const put = { kind: 'put', id: 'inst_1', version: 1 } as const;
  await change(put);
  await change({ kind: 'remove', id: 'inst_1', version: 2 });
  await change(put);
  assert.equal(await ask({ kind: 'page', page: PAGE }), { total: 0, rows: [], next: undefined });
});

notified('the order of notifications does not matter', async () => {
  await fc.assert(
    fc.asyncProperty(fc.gen(), async (gen) => {
      const history = gen(arbitraryChanges);
      const shuffled = gen(() => fc.shuffledSubarray(history, { minLength: history.length }));
      const late = gen(() => fc.subarray(history));
      assert.equal(await rowsAfter([...shuffled, ...late]), await rowsAfter(history));
    }),
    { numRuns: 200 },
  );
});

notified(
  'the directory reads the store for an instance whose create it did not receive',
  async () => {
    const { change, listings, ask } = directoryUnderTest();
    const reads: string[] = [];
    const { find } = listings;
    listings.find = async (accountId, instanceId) => {
      reads.push(instanceId);
      return find(accountId, instanceId);
    };
    await ask({ kind: 'reserve', instanceId: 'inst_2', instancesMax: 9 });
    await change({ kind: 'put', id: 'inst_1', version: 1 });
    await change({ kind: 'put', id: 'inst_2', version: 1 });
    await change({ kind: 'put', id: 'inst_1', version: 2 });
    assert.equal(reads, ['inst_1'], 'no read for a known row or a reservation');
    assert.is((await ask({ kind: 'page', page: PAGE })).total, 2);
  },
);

notified('changes during the load are kept, and the highest version wins', async () => {
  const { ask, listings } = directoryUnderTest();
  await listings.put('a', rowOf('inst_1', 4));
  const { listed } = listings;
  listings.listed = async (accountId, bytesMax) => {
    const rows = await listed(accountId, bytesMax);
    await listings.put('a', rowOf('inst_2', 1));
    return rows;
  };
  const [, , page] = await Promise.all([
    ask({ kind: 'put', accountId: 'a', row: { ...rowOf('inst_1', 3), name: 'late' } }),
    ask({ kind: 'put', accountId: 'a', row: rowOf('inst_2', 1) }),
    ask({ kind: 'page', page: PAGE }),
  ]);
  assert.equal(page?.total, 2);
  assert.equal(
    page?.rows.map(({ instanceId, version }) => [instanceId, version]),
    [
      ['inst_1', 4],
      ['inst_2', 1],
    ],
  );
});

const idle = suite('when a directory is idle');

idle('the directory is evicted, and reloads from the store', async () => {
  const { ask, listings, host, clock } = directoryUnderTest();
  await listings.put('a', rowOf('inst_1', 1));
  const before = await ask({ kind: 'page', page: PAGE });
  for (let s = 0; s < 40; s += 1) {
    clock.advance(1_000);
    await turnOfEvents();
  }
  assert.is(host.residency.actors, 0);
  assert.equal(await ask({ kind: 'page', page: PAGE }), before);
});

const large = suite('when a large directory is loaded');

/** The clock, at which each look takes some time. */
function slowClock(own: ManualClock) {
  let lookedMs = 0;
  return {
    wallMs: () => own.wallMs(),
    after: (ms: number, task: () => void) => own.after(ms, task),
    monotonicMs() {
      lookedMs += 0.5;
      return own.monotonicMs() + lookedMs;
    },
  };
}

large('other actors get turns before the load is complete', async () => {
  const { clock, listings, ask } = directoryUnderTest(slowClock);
  for (let n = 0; n < 20_000; n += 1) await listings.put('a', rowOf(`inst_${n}`, 1));
  let total: number | undefined;
  void ask({ kind: 'page', page: PAGE }).then((answer) => {
    total = answer.total;
  });
  const turns = await turnsUntil(clock, () => total !== undefined);
  assert.is(total, 20_000);
  assert.ok(turns >= 4, `${turns} turns`);
});

// Other calls of the account waited until a name search had ended.
large('other calls, even to this directory, get turns during a search', async () => {
  const { clock, listings, ask } = directoryUnderTest(slowClock);
  for (let n = 0; n < 5_000; n += 1) await listings.put('a', rowOf(`inst_${n}`, 1));
  const done: string[] = [];
  const page = async (search?: string) => {
    const asked = await ask({ kind: 'page', page: { ...PAGE, search } });
    const { total } = asked.searched === undefined ? asked : await asked.searched();
    done.push(`${search} ${total}`);
  };
  const loaded = page();
  await turnsUntil(clock, () => done.length === 1);
  const searched = page('NST_123');
  const removed = ask({ kind: 'remove', instanceId: 'inst_1234', version: 2 });
  const after = page();
  const turns = await turnsUntil(clock, () => done.length === 3);
  await Promise.all([loaded, searched, removed, after]);
  assert.ok(turns >= 4, `${turns} turns`);
  assert.equal(done, ['undefined 5000', 'undefined 4999', 'NST_123 11']);
});

/** Runs turns of the event loop until `isSo` holds. Returns their number. */
async function turnsUntil(clock: ManualClock, isSo: () => boolean): Promise<number> {
  let turns = 0;
  for (; !isSo(); turns += 1) {
    await turnOfEvents();
    clock.advance(0);
  }
  return turns;
}

idle('the directory of an account without instances is evicted immediately', async () => {
  const { ask, host } = directoryUnderTest();
  await ask({ kind: 'page', page: PAGE });
  assert.is(host.residency.actors, 0);
});

for (const group of [notified, idle, large]) group.run();
