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
      const [first] = answers;
      if (first?.outcome.status === 'rejected' && answers.every(isRejected)) {
        throw first.outcome.reason;
      }
      return answers.flatMap(({ server, outcome }) => {
        if (outcome.status === 'rejected') return [];
        const shown: unknown = outcome.value.rows[0]?.['shown'];
        assert(shown instanceof Date, `Cassandra ${server} does not tell its time`);
        return [shown.getTime()];
      });
    },
  };
}

function isRejected({ outcome }: { readonly outcome: PromiseSettledResult<unknown> }): boolean {
  return outcome.status === 'rejected';
}
