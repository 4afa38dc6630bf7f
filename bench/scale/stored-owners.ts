import type { DurableService } from '#bench/durable-service';
import { systemClock } from '#platform/clock';
import { cassandraJournalStore } from '#storage/cassandra/cassandra-journal-store';
import { cassandraShardStore } from '#storage/cassandra/cassandra-shard-store';
import { openSession } from '#storage/cassandra/session';

/** Where the service keeps its tables unless told otherwise. */
const PLACE = { localDataCenter: 'datacenter1', keyspace: 'identity_engine' };

/** Slots of one read: 16 MiB of the largest groups. */
const SLOTS_PER_READ = 32;

/** What a journal still holds. */
export type StoredTail = { readonly slots: number; readonly bytes: number };

/** Who owns what, and what stands in journals, as the database has it. */
export type StoredOwners = AsyncDisposable & {
  /** The shards of an incarnation's engine, which listens at `address`, and the incarnation. */
  shardsAt(address: string): Promise<{ incarnation: string; shards: Set<number> }>;
  /** What stands between `low` and `next` of a journal. */
  tailOf(incarnation: string): Promise<StoredTail>;
};

/** Looks into the service's database, `shardCount` shards. */
export async function openStoredOwners(
  { cassandra }: DurableService,
  shardCount: number,
): Promise<StoredOwners> {
  const contactPoints = [cassandra.address];
  const session = await openSession({ ...PLACE, contactPoints, clock: systemClock });
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
      if (head === undefined) throw new Error(`there is no journal of ${incarnation}`);
      let bytes = 0;
      for (let from = head.low; from < head.next; from += SLOTS_PER_READ) {
        const to = Math.min(head.next, from + SLOTS_PER_READ);
        const slots = await journals.readSlots(incarnation, from, to);
        for (const { records } of slots) bytes += records.length;
      }
      return { slots: head.next - head.low, bytes };
    },
    [Symbol.asyncDispose]: () => session[Symbol.asyncDispose](),
  };
}
