/** Settings of `cassandra.yaml` by name; a value is whatever YAML takes where JSON is written. */
export type CassandraSettings = Readonly<Record<string, unknown>>;

/** Ports of one server on loopback. */
export type CassandraPorts = { readonly cql: number; readonly storage: number };

/**
 * The settings of a single server on loopback. What safety needs (architecture 6): conditional writes
 * by `paxos_variant` v2, and a commit log that is on disk before a write is acknowledged.
 */
export function localCassandraSettings({ cql, storage }: CassandraPorts): CassandraSettings {
  return {
    cluster_name: 'identity-engine-local',
    listen_address: '127.0.0.1',
    rpc_address: '127.0.0.1',
    native_transport_port: cql,
    storage_port: storage,
    seed_provider: [
      {
        class_name: 'org.apache.cassandra.locator.SimpleSeedProvider',
        parameters: [{ seeds: `127.0.0.1:${storage}` }],
      },
    ],
    endpoint_snitch: 'SimpleSnitch',
    partitioner: 'org.apache.cassandra.dht.Murmur3Partitioner',
    num_tokens: 1,
    paxos_variant: 'v2',
    commitlog_sync: 'batch',
    // Direct I/O where the file system has it. By default the log is mapped and dropped from the page
    // cache behind every sync, so that each append reads it back from disk: 4 ms.
    commitlog_disk_access_mode: 'auto',
    // Tests drop keyspaces all the time, and no test looks at what a snapshot keeps of them.
    auto_snapshot: false,
    // Small, because a laptop holds everything else too. One mutation may have half a segment: far
    // above the largest group of the journal (512 KiB).
    commitlog_segment_size: '16MiB',
    commitlog_total_space: '512MiB',
    memtable_heap_space: '128MiB',
    memtable_offheap_space: '128MiB',
    file_cache_size: '64MiB',
    networking_cache_size: '32MiB',
    key_cache_size: '16MiB',
  };
}

/** `cassandra.yaml`: every line a setting, its value in JSON, which is YAML too. */
export function cassandraYaml(settings: CassandraSettings): string {
  const lines = Object.entries(settings).map(
    ([name, value]) => `${name}: ${JSON.stringify(value)}`,
  );
  return `${lines.join('\n')}\n`;
}
