import { pathToFileURL } from 'node:url';

/** JVM options of a Cassandra server. */
export type JavaOptions = {
  /** Paths of the server's settings, logging configuration and state. */
  readonly yaml: string;
  readonly logback: string;
  readonly state: string;
  readonly heapMb: number;
  /** Whether the ring has other servers, whose gossip the server must wait for. */
  readonly isOneOfSeveral: boolean;
  /** Whether the state is deleted with the process and never used again. */
  readonly isThrownAway: boolean;
  /** JMX port for `nodetool`; undefined: no client can connect. */
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

/** JVM arguments that give Cassandra's programs access to Java modules. */
export const JAVA_ACCESS: readonly string[] = [
  ...EXPORTED.map((name) => `--add-exports=${name}=ALL-UNNAMED`),
  ...OPENED.map((name) => `--add-opens=${name}=ALL-UNNAMED`),
];

/** Options of a single server, which need not wait for gossip. */
const FAST_START = [
  '-Dcassandra.skip_wait_for_gossip_to_settle=0',
  '-Dcassandra.ring_delay_ms=100',
  '-Dcassandra.load_ring_state=false',
];

/**
 * Options of a server in a ring. The server keeps its knowledge of the ring: with only a part of
 * it, it would count itself as a majority and grant conditional writes alone. On loopback shorter
 * waits suffice: gossip must be quiet for 1.5 s instead of 3 s, and the server starts without the
 * others after 2 s instead of 30 s.
 */
const RING_START = [
  '-Dcassandra.gossip_settle_min_wait_ms=1000',
  '-Dcassandra.gossip_settle_interval_ms=500',
  '-Dcassandra.ring_delay_ms=2000',
];

/**
 * Options of a test server, whose state nobody reads again. The compiler generates simple code,
 * because optimising takes longer than the tests. Schema changes are not flushed: after a kill, the
 * state lacks tables. Both options halve the CPU time of the storage tests.
 */
const THROWN_AWAY = [
  '-XX:TieredStopAtLevel=1',
  '-Dcassandra.test.flush_local_schema_changes=false',
];

/** The arguments of `java` before the class path. */
export function javaOptions(options: JavaOptions): string[] {
  const { yaml, logback, state, heapMb, isOneOfSeveral, isThrownAway, jmxPort } = options;
  return [
    // Allocate the whole heap at once: a small heap keeps the collector busy. The parallel
    // collector uses the least CPU; its pauses are short at this heap size.
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
