import assert from 'node:assert/strict';
import type { types } from 'cassandra-driver';
import type { CassandraSession, Statement } from '#storage/cassandra/session';
import { conditionalAnswerOf } from '#storage/cassandra/statements';
import type { ServerClocks, ShardChange, ShardRow, ShardStore } from '#storage/ports/cluster';

const READ_FACT = 'SELECT value FROM cluster_facts WHERE fact = ?';

const FIX_FACT = 'INSERT INTO cluster_facts (fact, value) VALUES (?, ?) IF NOT EXISTS';

// A scan, because the table has only some hundred rows. One read is cheaper than a read per
// partition.
const LOAD = 'SELECT service, shard, owner, epoch FROM shards';

const READ_SHARD = 'SELECT shard, owner, epoch FROM shards WHERE service = ? AND shard = ?';

const FIRST_OWNER = `
  INSERT INTO shards (service, shard, owner, epoch) VALUES (?, ?, ?, 1) IF NOT EXISTS`;

const NEXT_OWNER = `
  UPDATE shards SET owner = ?, epoch = ? WHERE service = ? AND shard = ?
  IF owner = ? AND epoch = ?`;

/**
 * Owners of shards in Cassandra: one partition per shard, changed only by lightweight transaction
 * and never deleted. The caller closes `session`. Source: architecture 3.
 */
export function cassandraShardStore(session: CassandraSession): ShardStore {
  const write = async (operation: string, { query, params }: Statement) => {
    const options = { kind: 'conditional', operation } as const;
    return conditionalAnswerOf(await session.execute(query, params, options));
  };

  /**
   * Sets a cluster fact, unless it is set. Returns the stored value: an earlier value, or `wanted`.
   */
  async function fix(fact: string, wanted: string): Promise<string> {
    const answer = await write('cluster_fact_fix', { query: FIX_FACT, params: [fact, wanted] });
    return answer.isApplied ? wanted : String(answer.row?.['value']);
  }

  return {
    fixCluster: (wanted) => fix('cluster', wanted),
    async fixCount(service, wanted) {
      const count = Number(await fix(`shard_count_${service}`, String(wanted)));
      assert(Number.isSafeInteger(count), `the shard count of ${service} is not a number`);
      return count;
    },
    async countOf(service) {
      const { rows } = await session.execute(READ_FACT, [`shard_count_${service}`], {
        kind: 'serial_read',
        operation: 'cluster_fact_read',
      });
      return rows[0] === undefined ? undefined : Number(rows[0]['value']);
    },
    async load(service, count) {
      const pages = session.pages(LOAD, [], {
        kind: 'read',
        operation: 'shard_load',
      });
      const shards: ShardRow[] = [];
      for await (const page of pages) {
        for (const row of page) {
          const shard: number = row['shard'];
          if (row['service'] === service && shard < count) shards.push(rowOf(shard, row));
        }
      }
      return shards;
    },
    async read(service, shard) {
      const { rows } = await session.execute(READ_SHARD, [service, shard], {
        kind: 'serial_read',
        operation: 'shard_read',
      });
      return rows[0] === undefined ? undefined : rowOf(shard, rows[0]);
    },
    async change(change) {
      const { shard, from, owner } = change;
      const answer = await write('shard_change', changeStatement(change));
      if (answer.isApplied) {
        return { isApplied: true, row: { shard, owner, epoch: (from?.epoch ?? 0) + 1 } };
      }
      const { row } = answer;
      return { isApplied: false, row: row === undefined ? undefined : rowOf(shard, row) };
    },
  };
}

function changeStatement({ service, shard, from, owner }: ShardChange): Statement {
  if (from === undefined) return { query: FIRST_OWNER, params: [service, shard, owner] };
  const epoch = BigInt(from.epoch);
  const params = [owner, epoch + 1n, service, shard, from.owner, epoch];
  return { query: NEXT_OWNER, params };
}

function rowOf(shard: number, row: types.Row): ShardRow {
  const owner: string = row['owner'];
  return { shard, owner, epoch: Number(row['epoch']) };
}

// Each server answers from its own table, with its own clock.
const READ_CLOCK = 'SELECT toTimestamp(now()) AS shown FROM system.local';

/** Clocks of all Cassandra servers that answer. The caller closes `session`. */
export function cassandraServerClocks(session: CassandraSession): ServerClocks {
  return {
    async read() {
      const options = { kind: 'read', operation: 'clock_read' } as const;
      const answers = await session.executeOnEach(READ_CLOCK, [], options);
      const clocks = answers.flatMap(({ server, outcome }) => {
        if (outcome.status === 'rejected') return [];
        const shown: unknown = outcome.value.rows[0]?.['shown'];
        assert(shown instanceof Date, `Cassandra server ${server} returned no time`);
        return [shown.getTime()];
      });
      const [first] = answers;
      if (clocks.length === 0 && first?.outcome.status === 'rejected') throw first.outcome.reason;
      return clocks;
    },
  };
}
