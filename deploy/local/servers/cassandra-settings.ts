/** Memory per server in a ring of three on a machine: half a single server's memory. */
const SMALLER = { memtable_heap_space: '64MiB', memtable_offheap_space: '64MiB' } as const;

/** Settings of `cassandra.yaml` by name, with JSON values. */
export type CassandraSettings = Readonly<Record<string, unknown>>;

/** Address and ports of a server on loopback. */
export type CassandraPlace = {
  readonly host: string;
  readonly cql: number;
  readonly storage: number;
  /** Addresses of all servers including this one; undefined for a single server. */
  readonly ring: readonly string[] | undefined;
};

/**
 * Settings of a server on loopback, single or in a ring. Safety requires two settings (architecture
 * 6): `paxos_variant` v2 for conditional writes, and a commit log that is on disk before a write is
 * acknowledged.
 */
export function localCassandraSettings(place: CassandraPlace): CassandraSettings {
  const { host, cql, storage, ring = [host] } = place;
  return {
    cluster_name: 'identity-engine-local',
    listen_address: host,
    rpc_address: host,
    native_transport_port: cql,
    storage_port: storage,
    seed_provider: [
      {
        class_name: 'org.apache.cassandra.locator.SimpleSeedProvider',
        // All servers are seeds, so that any server can start first and alone.
        parameters: [{ seeds: ring.map((address) => `${address}:${storage}`).join() }],
      },
    ],
    endpoint_snitch: 'SimpleSnitch',
    partitioner: 'org.apache.cassandra.dht.Murmur3Partitioner',
    num_tokens: 1,
    paxos_variant: 'v2',
    commitlog_sync: 'batch',
    // Use direct I/O if the file system supports direct I/O. By default, Cassandra maps the log
    // into memory and drops the log from the page cache after every sync. Each append then reads
    // the log from disk, which takes 4 ms.
    commitlog_disk_access_mode: 'auto',
    // Tests drop many keyspaces and never need their snapshots.
    auto_snapshot: false,
    // Small, because a laptop runs many other programs. A mutation may fill half a segment: far
    // more than the largest group of the journal (512 KiB).
    commitlog_segment_size: '16MiB',
    commitlog_total_space: '512MiB',
    memtable_heap_space: '128MiB',
    memtable_offheap_space: '128MiB',
    file_cache_size: '64MiB',
    networking_cache_size: '32MiB',
    key_cache_size: '16MiB',
    ...(ring.length > 1 ? ringSettings(ring, host) : {}),
  };
}

/**
 * Ring settings: every server starts empty with an even share of the tokens, so servers stream no
 * data.
 */
function ringSettings(ring: readonly string[], host: string): CassandraSettings {
  const share = 2n ** 64n / BigInt(ring.length);
  const token = BigInt(ring.indexOf(host)) * share - 2n ** 63n;
  return { auto_bootstrap: false, initial_token: `${token}`, ...SMALLER };
}

/** Content of `cassandra.yaml`: a setting per line. Values are JSON, which is valid YAML. */
export function cassandraYaml(settings: CassandraSettings): string {
  const lines = Object.entries(settings).map(
    ([name, value]) => `${name}: ${JSON.stringify(value)}`,
  );
  return `${lines.join('\n')}\n`;
}
