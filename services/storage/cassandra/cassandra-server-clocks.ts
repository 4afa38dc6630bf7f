import assert from 'node:assert/strict';
import type { CassandraSession } from '#storage/cassandra/session';
import type { ServerClocks } from '#storage/server-clocks';

// Each server answers from a table of its own, with its own clock.
const READ = 'SELECT toTimestamp(now()) AS shown FROM system.local';

/** The clocks of the Cassandra servers that answer. `session` stays the caller's. */
export function cassandraServerClocks(session: CassandraSession): ServerClocks {
  return {
    async read() {
      const options = { kind: 'read', operation: 'clock_read' } as const;
      const answers = await session.executeOnEach(READ, [], options);
      const clocks = answers.flatMap(({ server, outcome }) => {
        if (outcome.status === 'rejected') return [];
        const shown: unknown = outcome.value.rows[0]?.['shown'];
        assert(shown instanceof Date, `Cassandra ${server} does not show its time`);
        return [shown.getTime()];
      });
      const [first] = answers;
      if (clocks.length === 0 && first?.outcome.status === 'rejected') throw first.outcome.reason;
      return clocks;
    },
  };
}
