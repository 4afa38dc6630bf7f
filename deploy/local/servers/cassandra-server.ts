import { mkdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { installedCassandra } from '#deploy/local/install/cassandra';
import { lastLine, runProgram } from '#deploy/local/processes/run-program';
import { type Print, printNothing, withProgress } from '#deploy/local/progress';
import { cassandraVersionAt } from '#deploy/local/servers/cassandra-answer';
import { JAVA_ACCESS, javaOptions } from '#deploy/local/servers/cassandra-options';
import {
  type CassandraSettings,
  cassandraYaml,
  localCassandraSettings,
} from '#deploy/local/servers/cassandra-settings';
import { assertPortFree, freePort } from '#deploy/local/servers/free-port';
import {
  type LocalServer,
  type ServerPlace,
  startServer,
} from '#deploy/local/servers/local-server';

/** Maximum start time, in ms. A first start takes 10 s on an idle machine with two cores. */
const READY_MS_MAX = 180_000;

/** Heap of a single server, in MiB: enough for the journal's load and all tests. */
const HEAP_MB = 1_024;

/**
 * Heap per server in a ring, in MiB: half a single server's heap, because three servers share a
 * machine.
 */
const RING_HEAP_MB = 512;

/**
 * Maximum delay of timers (Linux timer slack), in ns; the default is 50,000. Idle Cassandra workers
 * poll as often as timers allow. At 200 appends per second, this value reduces polling from 58 % to
 * 30 % of a core; an append takes 1 ms longer.
 */
export const TIMER_SLACK_NS = 500_000;

/** Sets the timer slack for the child process, because Java has no such option. */
const WITH_SLACK = `echo ${TIMER_SLACK_NS} > /proc/self/timerslack_ns; exec "$0" "$@"`;

const MAIN_CLASS = 'org.apache.cassandra.service.CassandraDaemon';

/** Name of the archiving file, which Cassandra looks up in its class path. */
const ARCHIVING_FILE = 'commitlog_archiving.properties';

/** A server's ring on loopback. */
export type CassandraRing = {
  /** Address of this server. */
  readonly host: string;
  /** Addresses of all servers. */
  readonly hosts: readonly string[];
  /** Port of all servers for traffic between servers. */
  readonly storagePort: number;
};

/** Folders for archived commit log segments, and for segments to replay. */
type CassandraArchiving = {
  readonly archive: string;
  /** Folder of segments to replay at the start; undefined for no replay. */
  readonly restore?: string | undefined;
};

/** Folder and options of a Cassandra server. */
export type CassandraOptions = ServerPlace & {
  /** Name in record and log. Default: `cassandra`. */
  readonly name?: string;
  /** Undefined for a single server. */
  readonly ring?: CassandraRing;
  /** CQL port. Default: a free port. */
  readonly port?: number;
  /** JMX port for `nodetool`; undefined for no port. */
  readonly jmxPort?: number;
  readonly heapMb?: number;
  /** Archives the commit log for a restore; undefined for no archive. */
  readonly archiving?: CassandraArchiving;
  /**
   * Whether the state is deleted with the server. Faster, but the state is unusable after a kill.
   */
  readonly isThrownAway?: boolean;
  /** Replaces settings by name, for tests that need a misconfigured server. */
  readonly settings?: CassandraSettings;
  /**
   * Readiness check: resolves when the server at this address answers. Override for servers that
   * require a login.
   */
  readonly ask?: (address: string) => Promise<unknown>;
  readonly print?: Print;
};

/**
 * Starts Cassandra 5.0 on loopback; fetches a missing Cassandra first. Resolves when the server
 * answers a query. Throws `MissingServer` if Cassandra is not available.
 */
export async function startCassandra(options: CassandraOptions): Promise<LocalServer> {
  const { name = 'cassandra', ring, print = printNothing, jmxPort, logFolder } = options;
  const { ask = cassandraVersionAt } = options;
  const { heapMb = ring === undefined ? HEAP_MB : RING_HEAP_MB } = options;
  const folder = resolve(options.folder);
  const host = ring?.host ?? '127.0.0.1';
  if (options.port !== undefined) await assertPortFree(options.port, 'Cassandra', host);
  if (jmxPort !== undefined) await assertPortFree(jmxPort, "Cassandra's nodetool");
  const { java, version, libraries } = await installedCassandra(print);
  const cql = options.port ?? (await freePort());
  const storage = ring?.storagePort ?? (await freePort());
  const files = { yaml: join(folder, 'cassandra.yaml'), logback: join(folder, 'logback.xml') };
  await mkdir(folder, { recursive: true });
  await writeFile(
    files.yaml,
    cassandraYaml({
      ...localCassandraSettings({ host, cql, storage, ring: ring?.hosts }),
      ...options.settings,
    }),
  );
  await writeFile(files.logback, LOGBACK);
  const { archiving } = options;
  if (archiving !== undefined) {
    await mkdir(archiving.archive, { recursive: true });
    await writeFile(join(folder, ARCHIVING_FILE), archivingProperties(archiving));
  }
  const jmx = jmxPort === undefined ? {} : { jmxPort };
  const kind = { isOneOfSeveral: ring !== undefined, isThrownAway: options.isThrownAway === true };
  const args = [
    ...javaOptions({ ...files, state: join(folder, 'state'), heapMb, ...kind, ...jmx }),
    '-cp',
    // Cassandra looks up the archiving file in the class path.
    [
      ...(archiving === undefined ? [] : [folder]),
      ...libraries.map((path) => join(path, '*')),
    ].join(':'),
    MAIN_CLASS,
  ];
  const address = `${host}:${cql}`;
  const start = () =>
    startServer(
      { ...options, folder, logFolder },
      {
        name,
        ...commandOf(java, args),
        address,
        readyMsMax: READY_MS_MAX,
        ask: () => ask(address),
      },
    );
  return withProgress(print, `${name}: starting ${version} (usually 10 to 20 s)`, start);
}

function commandOf(java: string, args: readonly string[]) {
  if (process.platform !== 'linux') return { program: java, args };
  return { program: '/bin/sh', args: ['-c', WITH_SLACK, java, ...args] };
}

/**
 * Content of the archiving file. Sets no restore time, because the service uses versions as
 * mutation timestamps.
 */
function archivingProperties({ archive, restore }: CassandraArchiving): string {
  const script = resolve('deploy/backup/archive-segment.sh');
  const lines = [`archive_command=/bin/sh ${script} %path %name ${resolve(archive)}`];
  if (restore !== undefined) {
    lines.push('restore_command=/bin/cp -f %from %to', `restore_directories=${resolve(restore)}`);
  }
  return `${lines.join('\n')}\n`;
}

/** Logging configuration: one line per event, to standard output. */
export const LOGBACK = `<configuration>
  <appender name="OUT" class="ch.qos.logback.core.ConsoleAppender">
    <encoder><pattern>%date{ISO8601} %-5level %logger{0} %msg%n</pattern></encoder>
  </appender>
  <logger name="org.apache.cassandra.io.sstable" level="WARN"/>
  <root level="INFO"><appender-ref ref="OUT"/></root>
</configuration>
`;

/** Maximum run time of `nodetool`, in ms. A snapshot first flushes every table. */
const NODETOOL_MS_MAX = 120_000;

/** JVM arguments of `nodetool`. `user.home` redirects nodetool's command history. */
const NODETOOL_JAVA = ['-Xmx128m', `-Duser.home=${tmpdir()}`, ...JAVA_ACCESS];

/** Runs Cassandra's `nodetool` on the server with this JMX port. Throws with nodetool's error. */
export async function runNodetool(jmxPort: number, ...args: readonly string[]): Promise<string> {
  const { java, libraries } = await installedCassandra(printNothing);
  const classPath = libraries.map((path) => join(path, '*')).join(':');
  const main = 'org.apache.cassandra.tools.NodeTool';
  const { isOk, output } = await runProgram({
    program: java,
    args: [...NODETOOL_JAVA, '-cp', classPath, main, '-p', `${jmxPort}`, ...args],
    msMax: NODETOOL_MS_MAX,
  });
  if (!isOk) {
    const said = /^(?:error|nodetool): .*$/m.exec(output)?.[0] ?? lastLine(output);
    throw new Error(`nodetool ${args.join(' ')}: ${said}`);
  }
  return output;
}
