import { SERVICES, type ShardTable } from '#cluster-status/snapshot';
import { RowDigest, WorkWindow } from '#ctl/bounded-work';
import { ownedShards } from '#ctl/cluster/snapshot';
import { CtlError, DiffersError, type NamedStores } from '#ctl/command';
import { slotsOf } from '#shards/tail-recovery';
import { type Clock, sleep } from '#stdlib/clock';
import { forEachConcurrently } from '#stdlib/for-each-concurrently';
import type { ShardRow } from '#storage/ports/cluster';
import type { JournalStore } from '#storage/ports/journal';

/** Maximum journal slots written concurrently. */
const SLOTS_IN_FLIGHT_MAX = 8;

/**
 * Copies the tails of sealed journals and seals the copies. Nodes that start at the target take
 * over the shards from the stored owners, as after a crash. A sealed journal at the target is
 * complete, so a repeated run skips it.
 *
 * Rejects with a `CtlError` for an owner without a journal.
 */
export async function copyJournals(
  source: NamedStores,
  target: NamedStores,
  owners: Iterable<string>,
): Promise<void> {
  const listed = await target.journals.list();
  const ended = new Set(
    listed.filter(({ sealedAtMs }) => sealedAtMs !== undefined).map((one) => one.incarnation),
  );
  for (const owner of owners) if (!ended.has(owner)) await copyJournal(source, target, owner);
  for (const owner of owners) await assertSameTail(source, target, owner);
}

async function copyJournal(
  source: NamedStores,
  target: NamedStores,
  incarnation: string,
): Promise<void> {
  const head = await source.journals.readHead(incarnation, 'serial');
  if (head === undefined) throw lacksJournal(source, incarnation);
  // `begin` has no effect if an earlier run has begun the journal.
  await target.journals.begin(incarnation, head.address);
  const window = new WorkWindow(SLOTS_IN_FLIGHT_MAX);
  const { lowWaterMark } = head;
  for await (const { slot, records } of slotsOf(source.journals, incarnation, head)) {
    const append = { incarnation, slot, records, lowWaterMark, deleteBelow: undefined };
    await window.add(() => target.journals.append(append));
  }
  await window.end();
  await target.journals.seal(incarnation);
}

async function assertSameTail(
  source: NamedStores,
  target: NamedStores,
  incarnation: string,
): Promise<void> {
  const [one, other] = await Promise.all(
    [source, target].map((stores) => tailDigest(stores.journals, incarnation)),
  );
  if (one === other) return;
  throw new DiffersError(`the journal of ${incarnation} differs at ${target.name}`);
}

async function tailDigest(journals: JournalStore, incarnation: string): Promise<string> {
  const head = await journals.readHead(incarnation, 'serial');
  const digest = new RowDigest();
  if (head === undefined) return digest.text;
  for await (const { slot, records } of slotsOf(journals, incarnation, head)) {
    digest.add([slot, Buffer.from(records).toString('latin1')]);
  }
  return digest.text;
}

function lacksJournal({ name }: NamedStores, owner: string): CtlError {
  return new CtlError(`${name}: ${owner} owns shards, but has no journal`);
}

/** Observation time for journal growth, in milliseconds. A live node appends every second. */
const GROWTH_MS = 3_000;

/** Maximum shard rows written concurrently. */
const ROWS_IN_FLIGHT_MAX = 16;

/** A source that no process serves: its shard tables and its journals, all sealed. */
export type QuietSource = {
  readonly tables: readonly ShardTable[];
  readonly journals: ReadonlySet<string>;
};

/**
 * Seals every journal of a source, after a check that no journal grows. The check protects running
 * nodes. Sealing fences a suspended node: the node can acknowledge nothing more.
 *
 * Rejects with a `CtlError` if a process serves the source, or if no process ever served it.
 */
export async function quieted(source: NamedStores, clock: Clock): Promise<QuietSource> {
  const { journals } = source;
  const tables = await Promise.all(SERVICES.map((service) => ownedShards(source, service)));
  const open = (await journals.list()).filter(({ sealedAtMs }) => sealedAtMs === undefined);
  const nextOf = async (incarnation: string) => await journals.readHead(incarnation, 'quorum');
  const before = await Promise.all(open.map(({ incarnation }) => nextOf(incarnation)));
  if (open.length > 0) await sleep(clock, GROWTH_MS);
  for (const [index, { incarnation }] of open.entries()) {
    const head = await nextOf(incarnation);
    if (head === undefined || head.next === before[index]?.next) continue;
    throw new CtlError(
      `the process at ${head.address} serves ${source.name}: stop the process first`,
    );
  }
  for (const { incarnation } of open) await journals.seal(incarnation);
  return { tables, journals: await journalsOf(source) };
}

/** Rejects with a `CtlError` if a node has started at the source since `quieted`. */
export async function assertStillQuiet(source: NamedStores, quiet: QuietSource): Promise<void> {
  const isSame = (await journalsOf(source)).isSubsetOf(quiet.journals);
  if (isSame) return;
  throw new CtlError(
    `a process served ${source.name} during the copy: stop the process, and copy to an empty place`,
  );
}

async function journalsOf({ journals }: NamedStores): Promise<ReadonlySet<string>> {
  return new Set((await journals.list()).map(({ incarnation }) => incarnation));
}

/**
 * Claims an empty target for a copy of this source, or recognizes an unfinished or finished copy.
 * The target gets the source's cluster id, shard counts and shard owners. The claim precedes the
 * copy: a node that starts at the target finds owners without a journal, and opens no shard until
 * the copy is complete.
 *
 * Rejects with a `CtlError` if the target has other data.
 */
export async function claimTarget(target: NamedStores, { tables }: QuietSource): Promise<void> {
  const [first] = tables;
  if (first === undefined) return;
  if (await isEmpty(target)) await fixFacts(target, tables);
  const cluster = await target.shards.fixCluster(first.cluster);
  if (cluster !== first.cluster) {
    throw new CtlError(
      `${target.name} is not empty: it has the data of another cluster; use an empty place`,
    );
  }
  await fixFacts(target, tables);
  for (const table of tables) await claimRows(target, table);
  await assertUnserved(target, tables);
}

/** Rejects with a `CtlError` if a node has started at the target. */
export async function assertUnserved(
  target: NamedStores,
  tables: readonly ShardTable[],
): Promise<void> {
  const owners = new Set(tables.flatMap(({ rows }) => rows.map(({ owner }) => owner)));
  if ((await journalsOf(target)).isSubsetOf(owners)) return;
  throw servedSince(target);
}

async function isEmpty({ accounts, shards, journals }: NamedStores): Promise<boolean> {
  if ((await accounts.list({ afterId: undefined, limit: 1 })).length > 0) return false;
  if ((await journals.list()).length > 0) return false;
  const rows = SERVICES.map((service) => shards.load(service, Number.MAX_SAFE_INTEGER));
  return (await Promise.all(rows)).flat().length === 0;
}

async function fixFacts({ shards, name }: NamedStores, tables: readonly ShardTable[]) {
  for (const { service, shardCount } of tables) {
    const count = await shards.fixCount(service, shardCount);
    if (count === shardCount) continue;
    throw new CtlError(
      `${name} has ${count} shards for ${service}s, the source has ${shardCount}: copy to an empty place`,
    );
  }
}

async function claimRows(
  target: NamedStores,
  { service, shardCount, rows }: ShardTable,
): Promise<void> {
  const there = await target.shards.load(service, shardCount);
  const byShard = new Map(there.map((row) => [row.shard, row]));
  if (there.some(({ shard }) => rows.every((row) => row.shard !== shard))) {
    throw servedSince(target);
  }
  await forEachConcurrently(rows, ROWS_IN_FLIGHT_MAX, async ({ shard, owner }) => {
    const row: ShardRow | undefined =
      byShard.get(shard) ??
      (await target.shards.change({ service, shard, from: undefined, owner })).row;
    if (row?.owner !== owner) throw servedSince(target);
  });
}

function servedSince({ name }: NamedStores): CtlError {
  return new CtlError(
    `a process served ${name} or its source after the copy began: copy to an empty place`,
  );
}
