import assert from 'node:assert/strict';
import type { ShardedService, ShardRow, ShardStore } from '#storage/ports/cluster';
import type { Row, SqliteDatabase } from '#storage/sqlite/database';
import { factOf, fixFact } from '#storage/sqlite/schema';
import { CheckedTable, textIn, wholeIn } from '#storage/sqlite/tables';

const SHARDS = new CheckedTable({
  name: 'shards',
  keys: ['service', 'shard'],
  others: ['owner', 'epoch'],
  part: null,
});

const ALL = SHARDS.select('WHERE service = ? AND shard < ? ORDER BY shard');

/**
 * Owner and epoch of each shard, in an SQLite file. The epoch fences ownership only; the seal of a
 * journal fences the records of a former owner. The caller closes `database`. Source:
 * architecture 3.
 */
export function sqliteShardStore(database: SqliteDatabase): ShardStore {
  async function read(service: ShardedService, shard: number): Promise<ShardRow | undefined> {
    const row = await SHARDS.find(database, 'shard_read', [service, shard]);
    return row && shardIn(row);
  }

  return {
    fixCluster: (wanted) => fixFact(database, 'cluster', wanted),
    async fixCount(service, wanted) {
      const count = Number(await fixFact(database, `shard_count_${service}`, String(wanted)));
      assert(Number.isSafeInteger(count), `the shard count of ${service} is not a number`);
      return count;
    },
    async countOf(service) {
      const value = await factOf(database, `shard_count_${service}`);
      return value === undefined ? undefined : Number(value);
    },
    async load(service, count) {
      // A shard with a missing row would be mistaken for a shard that never had an owner.
      await SHARDS.assertWhole(database);
      const values = [service, count];
      const rows = await database.read({ operation: 'shard_load', sql: ALL, values });
      return SHARDS.rowsOf(rows).map(shardIn);
    },
    read,
    async change({ service, shard, from, owner }) {
      const epoch = (from?.epoch ?? 0) + 1;
      const row = [service, shard, owner, epoch];
      const statements = [
        from === undefined
          ? SHARDS.insert(row)
          : SHARDS.replace(row, { owner: from.owner, epoch: from.epoch }),
      ];
      const isApplied = await database.write({ operation: 'shard_change', statements });
      if (isApplied) return { isApplied, row: { shard, owner, epoch } };
      return { isApplied, row: await read(service, shard) };
    },
  };
}

function shardIn(row: Row): ShardRow {
  return { shard: wholeIn(row, 1), owner: textIn(row, 2), epoch: wholeIn(row, 3) };
}
