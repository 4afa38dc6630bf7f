import { statSync } from 'node:fs';
import { type History, histories } from '#bench/one-file/histories';
import { withProgress } from '#bench/progress';
import { seededId, seededName } from '#bench/scale/seed';
import { systemClock } from '#stdlib/clock';
import { forEachConcurrently } from '#stdlib/for-each-concurrently';
import { bucketsOf, HEADS_MAX, type InstanceStore } from '#storage/ports/instances';
import type { ListingStore } from '#storage/ports/listings';
import type { SqliteDatabase, Transaction } from '#storage/sqlite/database';
import { sqliteInstanceStore } from '#storage/sqlite/instances';
import { sqliteListingStore } from '#storage/sqlite/listings';
import { openServedFile } from '#storage/sqlite/open-file';
import { sqliteShardStore } from '#storage/sqlite/shards';

/** Number of concurrent writes: enough that a transaction always waits for the writer. */
const WRITES_IN_FLIGHT = 8;

/** Parameters of `fillFile`. */
export type Filling = {
  /** SQLite file that the service has created. */
  readonly file: string;
  readonly accountId: string;
  /** Number of instances to add. */
  readonly instances: number;
  readonly print: (line: string) => void;
};

/** Sizes of the idle file in bytes, and the durations of the writes. */
export type FilledSizes = {
  /** Size with one account and no instance. */
  readonly empty: number;
  /** Size with instances but no observations. */
  readonly created: number;
  /** Size with instances and observations. */
  readonly observed: number;
  /** Seconds to write the instances. */
  readonly createdS: number;
  /** Seconds to write the observations. */
  readonly observedS: number;
};

type Stores = { readonly instances: InstanceStore; readonly listings: ListingStore };

/**
 * Writes instances with histories through the storage ports, as the service's checkpoints do.
 * The first pass writes the listing entries and the heads of instances without observations. The
 * second pass writes the heads again, with observations. Each write contains heads of one bucket.
 * No service may use the file meanwhile.
 */
export async function fillFile(filling: Filling): Promise<FilledSizes> {
  const { file, accountId } = filling;
  const historyOf = histories(Date.now());
  const empty = statSync(file).size;
  const createdS = await inWaves(filling, 'created', async ({ instances, listings }, indexes) => {
    const heads = indexes.map((index) => {
      const { created } = historyOf(index);
      return { index, head: { ...created, accountId, name: seededName(index) } };
    });
    const rows = heads.map(({ index, head: { version, name, description, createdAtMs } }) => {
      const instanceId = seededId(index);
      return listings.put(accountId, { instanceId, version, name, description, createdAtMs });
    });
    const checkpoints = heads.map(({ index, head }) => {
      return { instanceId: seededId(index), head, history: [], drift: [], answers: [] };
    });
    await Promise.all([...rows, instances.checkpoint(checkpoints)]);
  });
  const created = statSync(file).size;
  const observedS = await inWaves(filling, 'observed', async ({ instances }, indexes) => {
    await instances.checkpoint(indexes.map((index) => checkpointOf(index, historyOf(index))));
  });
  return { empty, created, observed: statSync(file).size, createdS, observedS };

  function checkpointOf(index: number, { head: made, history, drift }: History) {
    const head = { ...made, accountId, name: seededName(index) };
    return { instanceId: seededId(index), head, history, drift, answers: [] };
  }
}

/**
 * Writes all instances in batches. The instances of a batch share a bucket. Their ids are random,
 * as in a service, so index entries are inserted in random order. Returns the duration in s.
 */
async function inWaves(
  { file, instances: count, print }: Filling,
  what: string,
  write: (stores: Stores, indexes: readonly number[]) => Promise<void>,
): Promise<number> {
  const startedMs = performance.now();
  await using database = openServedFile({ file, clock: systemClock });
  const shards = await sqliteShardStore(database).countOf('engine');
  if (shards === undefined)
    throw new Error('the file has no shards: start the service on the file first');
  const bucketOf = bucketsOf(shards);
  const stores = {
    instances: sqliteInstanceStore(database, bucketOf),
    listings: sqliteListingStore(gathering(database), systemClock),
  };
  let written = 0;
  const line = () => `${what}: ${written.toLocaleString('en')} of ${count.toLocaleString('en')}`;
  await withProgress(line, print, async () => {
    const waves = [...batches(count, bucketOf)];
    await forEachConcurrently(waves, WRITES_IN_FLIGHT, async (indexes) => {
      await write(stores, indexes);
      written += indexes.length;
    });
  });
  return (performance.now() - startedMs) / 1_000;
}

/**
 * Combines all writes of one event-loop turn into one transaction. This saves messages to the
 * database thread.
 */
function gathering(database: SqliteDatabase): SqliteDatabase {
  const waiting: Transaction[] = [];
  let written: Promise<boolean> | undefined;
  const writeAll = async (first: Transaction): Promise<boolean> => {
    await null;
    const statements = waiting.splice(0).flatMap((transaction) => transaction.statements);
    written = undefined;
    return await database.write({ ...first, statements });
  };
  return {
    read: (query) => database.read(query),
    write(transaction) {
      waiting.push(transaction);
      written ??= writeAll(transaction);
      return written;
    },
  };
}

/**
 * Groups instance numbers into batches of one bucket. Yields a batch when it has the size of a
 * checkpoint, and the smaller batches at the end.
 */
function* batches(
  count: number,
  bucketOf: (instanceId: string) => number,
): Generator<readonly number[]> {
  const open = new Map<number, number[]>();
  for (let index = 0; index < count; index += 1) {
    const bucket = bucketOf(seededId(index));
    const batch = open.get(bucket) ?? [];
    open.set(bucket, batch);
    batch.push(index);
    if (batch.length < HEADS_MAX) continue;
    open.delete(bucket);
    yield batch;
  }
  yield* open.values();
}
