import type { DurableService } from '#bench/durable/service';
import { slotsOf } from '#shards/tail-recovery';
import { systemClock } from '#stdlib/clock';
import { cassandraJournalStore } from '#storage/cassandra/journals';
import { openSession } from '#storage/cassandra/session';
import { cassandraShardStore } from '#storage/cassandra/shards';

/** Data center of a local server. */
const LOCAL_DATA_CENTER = 'datacenter1';

/** Journal slots and bytes without a checkpoint. */
export type StoredTail = { readonly slots: number; readonly bytes: number };

/** Shard owners and journal tails, read from the database. */
export type StoredOwners = AsyncDisposable & {
  /** Incarnation and shards of the engine at `address`. */
  shardsAt(address: string): Promise<{ incarnation: string; shards: Set<number> }>;
  /** Slots of a journal between its low-water mark and `next`. */
  tailOf(incarnation: string): Promise<StoredTail>;
};

/** Opens the service's database, which has `shardCount` shards. */
export async function openStoredOwners(
  { cassandra, keyspace }: DurableService,
  shardCount: number,
): Promise<StoredOwners> {
  const contactPoints = [cassandra.address];
  const place = { localDataCenter: LOCAL_DATA_CENTER, keyspace, contactPoints };
  const session = await openSession({ ...place, clock: systemClock });
  const journals = cassandraJournalStore(session);
  const table = cassandraShardStore(session);
  return {
    async shardsAt(address) {
      const rows = await table.load('engine', shardCount);
      for (const [incarnation, owned] of Map.groupBy(rows, ({ owner }) => owner)) {
        const head = await journals.readHead(incarnation, 'serial');
        if (head?.address !== address) continue;
        return { incarnation, shards: new Set(owned.map(({ shard }) => shard)) };
      }
      throw new Error(`no engine at ${address} owns a shard`);
    },
    async tailOf(incarnation) {
      const head = await journals.readHead(incarnation, 'serial');
      if (head === undefined) throw new Error(`incarnation ${incarnation} has no journal`);
      let bytes = 0;
      for await (const { records } of slotsOf(journals, incarnation, head)) bytes += records.length;
      return { slots: head.next - head.lowWaterMark, bytes };
    },
    [Symbol.asyncDispose]: () => session[Symbol.asyncDispose](),
  };
}
