import { Client, policies, types } from 'cassandra-driver';

/** How long a connect and a read may take, in milliseconds. A server that has just started is slow. */
const ANSWER_MS_MAX = 5_000;

/** The version of the Cassandra at `host:port`, read from a table of its own. Rejects without. */
export async function cassandraVersionAt(address: string): Promise<string> {
  const query = 'SELECT release_version FROM system.local';
  const [row] = await lookAtCassandra(address, query, types.consistencies.one);
  return String(row?.['release_version'] ?? '');
}

/** The rows that exactly the server at `host:port` answers a query with. Rejects without an answer. */
export async function lookAtCassandra(
  address: string,
  query: string,
  consistency: types.consistencies,
): Promise<types.Row[]> {
  const { RoundRobinPolicy, AllowListPolicy } = policies.loadBalancing;
  const client = new Client({
    contactPoints: [address],
    // It would find others, and ask one of them.
    policies: { loadBalancing: new AllowListPolicy(new RoundRobinPolicy(), [address]) },
    socketOptions: { connectTimeout: ANSWER_MS_MAX, readTimeout: ANSWER_MS_MAX },
  });
  try {
    await client.connect();
    const { rows } = await client.execute(query, [], { consistency });
    return rows;
  } finally {
    await client.shutdown();
  }
}
