import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type DirectoryCall, DirectoryKind } from '#engine/directory-kind';
import { createMetrics } from '#platform/metrics';
import { ActorHost } from '#runtime/actor-host';
import { CommitLog } from '#runtime/commit-log';
import { runtimeMetrics } from '#runtime/runtime-metrics';
import { ONE_SHARD } from '#runtime/shard-gate';
import { memoryJournal } from '#storage/memory/memory-journal';
import { memoryListingStore } from '#storage/memory/memory-listing-store';
import { ManualClock } from '#test/support/manual-clock';
import { turnOfEvents } from '#test/support/settled';

const UNHURRIED = { callId: 0, deadlineAtMs: Number.POSITIVE_INFINITY };
const PAGE = { limit: 10, offset: 0, sort: 'name', order: 'asc' } as const;

type Told<Kind extends DirectoryCall['kind']> = Omit<
  Extract<DirectoryCall, { kind: Kind }>,
  keyof typeof UNHURRIED
>;

/** One account's directory on a real host, and the store that it loads from. */
function directoryUnderTest() {
  const clock = new ManualClock();
  const listings = memoryListingStore();
  const host = new ActorHost(
    new DirectoryKind(listings),
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
  const tell = async (call: Told<'put'> | Told<'remove'> | Told<'page'>) =>
    host.ask('a', { ...call, ...UNHURRIED });
  return { clock, listings, host, tell };
}

function rowOf(instanceId: string, version: number) {
  return { instanceId, version, name: instanceId, description: '', createdAtMs: 5 };
}

const told = suite('when a directory is told of changes');

told('a change that comes late does not bring back what was removed last', async () => {
  const { tell } = directoryUnderTest();
  await tell({ kind: 'put', row: rowOf('inst_1', 1) });
  await tell({ kind: 'remove', instanceId: 'inst_1', version: 2 });
  await turnOfEvents();
  await tell({ kind: 'put', row: rowOf('inst_1', 1) });
  assert.equal(await tell({ kind: 'page', page: PAGE }), { total: 0, rows: [] });
});

told('those that come while it is being loaded are kept, newest version first', async () => {
  const { tell, listings } = directoryUnderTest();
  await listings.put('a', rowOf('inst_1', 4));
  const [, , page] = await Promise.all([
    tell({ kind: 'put', row: { ...rowOf('inst_1', 3), name: 'late' } }),
    tell({ kind: 'put', row: rowOf('inst_2', 1) }),
    tell({ kind: 'page', page: PAGE }),
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

idle('it leaves memory and comes back from the store', async () => {
  const { tell, listings, host, clock } = directoryUnderTest();
  await listings.put('a', rowOf('inst_1', 1));
  const before = await tell({ kind: 'page', page: PAGE });
  for (let s = 0; s < 40; s += 1) {
    clock.advance(1_000);
    await turnOfEvents();
  }
  assert.is(host.residency.actors, 0);
  assert.equal(await tell({ kind: 'page', page: PAGE }), before);
});

idle('that of an account without instances leaves at once', async () => {
  const { tell, host } = directoryUnderTest();
  await tell({ kind: 'page', page: PAGE });
  assert.is(host.residency.actors, 0);
});

for (const group of [told, idle]) group.run();
