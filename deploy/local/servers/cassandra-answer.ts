import { Client, policies, types } from 'cassandra-driver';

/** Timeout for a connection and for a read, in ms: a newly started server is slow. */
const ANSWER_MS_MAX = 5_000;

/** Version of the Cassandra server at `host:port`. Throws if the server does not answer. */
export async function cassandraVersionAt(address: string): Promise<string> {
  const query = 'SELECT release_version FROM system.local';
  const [row] = await lookAtCassandra(address, query, types.consistencies.one);
  return String(row?.['release_version'] ?? '');
}

/** Runs a query on exactly the server at `host:port`. Throws if the server does not answer. */
export async function lookAtCassandra(
  address: string,
  query: string,
  consistency: types.consistencies,
): Promise<types.Row[]> {
  const { RoundRobinPolicy, AllowListPolicy } = policies.loadBalancing;
  const client = new Client({
    contactPoints: [address],
    // Otherwise, the driver would discover and query other servers.
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
