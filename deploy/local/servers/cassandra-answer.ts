import { Client, policies, types } from 'cassandra-driver';

/**
 * Maximum time for a connect and for a read, in milliseconds. A server that has just started is
 * slow.
 */
const ANSWER_MS_MAX = 5_000;

/** The version of the Cassandra at `host:port`. Rejects if the server does not answer. */
export async function cassandraVersionAt(address: string): Promise<string> {
  const query = 'SELECT release_version FROM system.local';
  const [row] = await lookAtCassandra(address, query, types.consistencies.one);
  return String(row?.['release_version'] ?? '');
}

/** Rows of a query, answered by exactly the server at `host:port`. Rejects without an answer. */
export async function lookAtCassandra(
  address: string,
  query: string,
  consistency: types.consistencies,
): Promise<types.Row[]> {
  const { RoundRobinPolicy, AllowListPolicy } = policies.loadBalancing;
  const client = new Client({
    contactPoints: [address],
    // Otherwise the driver would discover other servers and query one of them.
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
