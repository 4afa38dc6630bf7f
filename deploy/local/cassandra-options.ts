import { pathToFileURL } from 'node:url';

/** Options of the Java machine of a server. */
export type JavaOptions = {
  /** Settings, logging and state of the server, as files. */
  readonly yaml: string;
  readonly logback: string;
  readonly state: string;
  readonly heapMb: number;
  /** Whether there are other servers, which it must hear from before it serves. */
  readonly isOneOfSeveral: boolean;
  /** Whether the state goes with the process: nobody starts a server on it again. */
  readonly isThrownAway: boolean;
  /** Where `nodetool` may connect; without it no client can. */
  readonly jmxPort?: number;
};

/** What Cassandra opens of Java 17's own modules: the list of its `jvm17-server.options`. */
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

/** What gives Cassandra's programs the access to Java that they ask for. */
export const JAVA_ACCESS: readonly string[] = [
  ...EXPORTED.map((name) => `--add-exports=${name}=ALL-UNNAMED`),
  ...OPENED.map((name) => `--add-opens=${name}=ALL-UNNAMED`),
];

/** There is no other server to hear from: a single one need not wait for gossip. */
const FAST_START = [
  '-Dcassandra.skip_wait_for_gossip_to_settle=0',
  '-Dcassandra.ring_delay_ms=100',
  '-Dcassandra.load_ring_state=false',
];

/**
 * One of several keeps what it knew of the ring: with a part of it a server would take itself for a
 * majority, and grant a conditional write alone. It waits until gossip is quiet for a second and a half
 * instead of 3 s, and begins without the others after 2 s instead of 30: on loopback that is much.
 */
const RING_START = [
  '-Dcassandra.gossip_settle_min_wait_ms=1000',
  '-Dcassandra.gossip_settle_interval_ms=500',
  '-Dcassandra.ring_delay_ms=2000',
];

/**
 * For a server of tests, whose state nobody reads again. The compiler makes simple code: compiling
 * well takes longer than the tests. A changed schema is not flushed to disk: a start on the state of a
 * killed server would lack tables. Both halve the processor time of the storage tests.
 */
const THROWN_AWAY = [
  '-XX:TieredStopAtLevel=1',
  '-Dcassandra.test.flush_local_schema_changes=false',
];

/** The arguments of `java` before the class path. */
export function javaOptions(options: JavaOptions): string[] {
  const { yaml, logback, state, heapMb, isOneOfSeveral, isThrownAway, jmxPort } = options;
  return [
    // All of the heap at once: in a small one the collector works all the time. The parallel one
    // takes the least CPU, and its pauses on a heap of this size are short.
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
