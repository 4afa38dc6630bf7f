import { Client, policies } from 'cassandra-driver';

/** How long a connect and a read may take, in milliseconds. A server that has just started is slow. */
const ANSWER_MS_MAX = 5_000;

/** The version of the Cassandra at `host:port`, read from a table of its own. Rejects without. */
export async function cassandraVersionAt(address: string): Promise<string> {
  const client = new Client({
    contactPoints: [address],
    policies: { loadBalancing: new policies.loadBalancing.RoundRobinPolicy() },
    socketOptions: { connectTimeout: ANSWER_MS_MAX, readTimeout: ANSWER_MS_MAX },
  });
  try {
    await client.connect();
    const { rows } = await client.execute('SELECT release_version FROM system.local');
    return String(rows[0]?.['release_version'] ?? '');
  } finally {
    await client.shutdown();
  }
}
