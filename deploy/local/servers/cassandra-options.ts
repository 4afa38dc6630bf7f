import { pathToFileURL } from 'node:url';

/** JVM options of a Cassandra server. */
export type JavaOptions = {
  /** Path of the settings file. */
  readonly yaml: string;
  /** Path of the logging configuration. */
  readonly logback: string;
  /** Folder of the state. */
  readonly state: string;
  readonly heapMb: number;
  /** Whether the ring has other servers: the server then waits for gossip. */
  readonly isOneOfSeveral: boolean;
  /** Whether the state is deleted with the process. */
  readonly isThrownAway: boolean;
  /** JMX port for `nodetool`; undefined for no port. */
  readonly jmxPort?: number;
};

/** Java 17 modules that Cassandra needs, as in its `jvm17-server.options`. */
const EXPORTED = [
  'java.base/jdk.internal.misc',
  'java.management.rmi/com.sun.jmx.remote.internal.rmi',
  'java.rmi/sun.rmi.registry',
  'java.rmi/sun.rmi.server',
  'java.sql/java.sql',
  'java.base/java.lang.ref',
  'jdk.unsupported/sun.misc',
];
const OPENED = [
  'java.base/java.lang.module',
  'java.base/jdk.internal.loader',
  'java.base/jdk.internal.ref',
  'java.base/jdk.internal.reflect',
  'java.base/jdk.internal.math',
  'java.base/jdk.internal.module',
  'java.base/jdk.internal.util.jar',
  'jdk.management/com.sun.management.internal',
  'java.base/sun.nio.ch',
  'java.base/java.io',
  'java.base/java.lang',
  'java.base/java.lang.reflect',
  'java.base/java.util',
];

/** JVM arguments that open Java modules to Cassandra's programs. */
export const JAVA_ACCESS: readonly string[] = [
  ...EXPORTED.map((name) => `--add-exports=${name}=ALL-UNNAMED`),
  ...OPENED.map((name) => `--add-opens=${name}=ALL-UNNAMED`),
];

/** Options of a single server, which skip waiting for gossip. */
const FAST_START = [
  '-Dcassandra.skip_wait_for_gossip_to_settle=0',
  '-Dcassandra.ring_delay_ms=100',
  '-Dcassandra.load_ring_state=false',
];

/**
 * Options of a server in a ring. The server loads its stored ring state: with a partial view, the
 * server would count itself as a majority and grant conditional writes alone. On loopback, shorter
 * waits suffice: gossip must be quiet for 1.5 s instead of 3 s, and the server starts without other
 * servers after 2 s instead of 30 s.
 */
const RING_START = [
  '-Dcassandra.gossip_settle_min_wait_ms=1000',
  '-Dcassandra.gossip_settle_interval_ms=500',
  '-Dcassandra.ring_delay_ms=2000',
];

/**
 * Options of a test server, whose state is deleted. Disables the optimizing compiler, which needs
 * more time than the tests. Disables flushes of schema changes; after a kill, the state on disk
 * then lacks tables. Both options halve the CPU time of the storage tests.
 */
const THROWN_AWAY = [
  '-XX:TieredStopAtLevel=1',
  '-Dcassandra.test.flush_local_schema_changes=false',
];

/** Arguments of `java` before the class path. */
export function javaOptions(options: JavaOptions): string[] {
  const { yaml, logback, state, heapMb, isOneOfSeveral, isThrownAway, jmxPort } = options;
  return [
    // Allocate the whole heap at the start: a small heap keeps the collector busy. The parallel
    // collector uses the least CPU, and its pauses are short at this heap size.
    `-Xms${heapMb}m`,
    `-Xmx${heapMb}m`,
    '-XX:+UseParallelGC',
    '-XX:+ExitOnOutOfMemoryError',
    '-Xlog:disable',
    '-Djdk.attach.allowAttachSelf=true',
    ...JAVA_ACCESS,
    '-Dio.netty.tryReflectionSetAccessible=true',
    `-Dcassandra.config=${pathToFileURL(yaml)}`,
    `-Dlogback.configurationFile=${pathToFileURL(logback)}`,
    `-Dcassandra.storagedir=${state}`,
    '-Dcassandra-foreground=yes',
    ...(jmxPort === undefined ? [] : [`-Dcassandra.jmx.local.port=${jmxPort}`]),
    ...(isOneOfSeveral ? RING_START : FAST_START),
    ...(isThrownAway ? THROWN_AWAY : []),
  ];
}
