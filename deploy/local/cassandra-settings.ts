/** Three of them share a machine, each with half the heap of one that is alone. */
const SMALLER = { memtable_heap_space: '64MiB', memtable_offheap_space: '64MiB' } as const;

/** Settings of `cassandra.yaml` by name; a value is whatever YAML takes where JSON is written. */
export type CassandraSettings = Readonly<Record<string, unknown>>;

/** Address and ports of one server on loopback. */
export type CassandraPlace = {
  readonly host: string;
  readonly cql: number;
  readonly storage: number;
  /** Addresses of all servers, this one's among them, if there are several. */
  readonly ring: readonly string[] | undefined;
};

/**
 * The settings of a server on loopback, alone or one of several. What safety needs (architecture 6): conditional writes
 * by `paxos_variant` v2, and a commit log that is on disk before a write is acknowledged.
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
        // All of them, so that any may come back first, and alone.
        parameters: [{ seeds: ring.map((address) => `${address}:${storage}`).join() }],
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
    ...(ring.length > 1 ? ringSettings(ring, host) : {}),
  };
}

/** Every server begins with nothing and its even share: there is nothing to fetch from the others. */
function ringSettings(ring: readonly string[], host: string): CassandraSettings {
  const share = 2n ** 64n / BigInt(ring.length);
  const token = BigInt(ring.indexOf(host)) * share - 2n ** 63n;
  return { auto_bootstrap: false, initial_token: `${token}`, ...SMALLER };
}

/** `cassandra.yaml`: every line a setting, its value in JSON, which is YAML too. */
export function cassandraYaml(settings: CassandraSettings): string {
  const lines = Object.entries(settings).map(
    ([name, value]) => `${name}: ${JSON.stringify(value)}`,
  );
  return `${lines.join('\n')}\n`;
}
