import { mkdir, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { cassandraVersionAt } from '#deploy/local/cassandra-answer';
import {
  ARCHIVING_FILE,
  archivingProperties,
  type CassandraArchiving,
} from '#deploy/local/cassandra-archiving';
import { installedCassandra } from '#deploy/local/cassandra-install';
import { javaOptions } from '#deploy/local/cassandra-options';
import {
  type CassandraSettings,
  cassandraYaml,
  localCassandraSettings,
} from '#deploy/local/cassandra-settings';
import { assertPortFree, freePort } from '#deploy/local/free-port';
import { type LocalServer, type ServerPlace, startServer } from '#deploy/local/local-server';
import { type Print, printNothing, withProgress } from '#deploy/local/progress';

/** A first start takes 10 s on a quiet machine with two cores. */
const READY_MS_MAX = 180_000;

/** Enough for the journal's load and for every test; in MiB. */
const HEAP_MB = 1_024;

/** Of each of several, which share that load's rows but have them all. Chosen. */
const RING_HEAP_MB = 512;

/**
 * By how much Linux may delay timers of its process, in nanoseconds; 50,000 is usual. At any load a
 * worker of Cassandra without work looks for some again and again, as often as timers let it: that
 * takes 30 instead of 58 % of a core at 200 appends a second, and an append a millisecond more.
 */
export const TIMER_SLACK_NS = 500_000;

/** A process has the timer slack of the one that starts it: there is no option of Java for it. */
const WITH_SLACK = `echo ${TIMER_SLACK_NS} > /proc/self/timerslack_ns; exec "$0" "$@"`;

const MAIN_CLASS = 'org.apache.cassandra.service.CassandraDaemon';

/** A server among others on loopback. */
export type CassandraRing = {
  /** Its own address, and those of all servers. */
  readonly host: string;
  readonly hosts: readonly string[];
  /** Of all, for what they say to each other. */
  readonly storagePort: number;
};

/** Where a Cassandra runs, and what differs from the usual. */
export type CassandraOptions = ServerPlace & {
  /** Of its record and its log; `cassandra` unless given. */
  readonly name?: string;
  /** Alone without it. */
  readonly ring?: CassandraRing;
  /** Of CQL; a free one unless named. */
  readonly port?: number;
  /** Of `nodetool`; without it there is none. */
  readonly jmxPort?: number;
  readonly heapMb?: number;
  /** Keeps its commit log, for a restore; without it nothing is kept. */
  readonly archiving?: CassandraArchiving;
  /** Whether its state goes with it: faster, and useless once the server is killed. */
  readonly isThrownAway?: boolean;
  /** Replaces settings by name: for a test that wants a server which is set up wrongly. */
  readonly settings?: CassandraSettings;
  /** Fulfils when the server at this address answers; for one that asks who calls. */
  readonly ask?: (address: string) => Promise<unknown>;
  readonly print?: Print;
};

/**
 * Starts a Cassandra 5.0 on loopback, fetched first if need be; fulfils when it answers a query.
 * Throws `MissingServer` when there is none to be had.
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
    // The file about archiving is looked for in the class path.
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

/** One line for what happened, to standard output, which is the log file. */
const LOGBACK = `<configuration>
  <appender name="OUT" class="ch.qos.logback.core.ConsoleAppender">
    <encoder><pattern>%date{ISO8601} %-5level %logger{0} %msg%n</pattern></encoder>
  </appender>
  <logger name="org.apache.cassandra.io.sstable" level="WARN"/>
  <root level="INFO"><appender-ref ref="OUT"/></root>
</configuration>
`;
