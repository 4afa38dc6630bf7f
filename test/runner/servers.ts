import { globSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { dirname, join } from 'node:path';
import { birthOf } from '#deploy/local/processes/process-birth';
import { startCassandra } from '#deploy/local/servers/cassandra-server';
import { startJaeger } from '#deploy/local/servers/jaeger-server';
import type { LocalServer } from '#deploy/local/servers/local-server';
import { startNats } from '#deploy/local/servers/nats-server';
import { runningServer, signalProcess } from '#deploy/local/servers/server-record';
import { startStripeMock } from '#deploy/local/servers/stripe-mock-server';
import type { Job } from '#test/runner/job';
import { runToEnd } from '#test/runner/program';
import { pemOf } from '#test/support/servers/server-certificates';

/*
 * Servers that all test files in a run share. A run starts each server once, if a file needs the
 * server, and deletes the server state at the end.
 */

type Place = Parameters<typeof startCassandra>[0];

/** TLS and plain text on the same port. TLS clients need a certificate of the same authority. */
const ENCRYPTED = {
  client_encryption_options: {
    enabled: true,
    optional: true,
    require_client_auth: true,
    ssl_context_factory: {
      class_name: 'org.apache.cassandra.security.PEMBasedSslContextFactory',
      parameters: {
        private_key: `${pemOf('store', 'tls.key')}${pemOf('store', 'tls.crt')}`,
        trusted_certificates: pemOf('store', 'ca.crt'),
      },
    },
  },
};

/** `variable` contains the address of a server. `need` matches test files that use the server. */
const SERVERS = [
  { name: 'nats', variable: 'TEST_NATS', need: /\bnatsOrSkip\(/, open: startNats },
  {
    name: 'stripe-mock',
    variable: 'TEST_STRIPE_MOCK',
    need: /\bstripeMockOrSkip\(/,
    open: startStripeMock,
  },
  { name: 'jaeger', variable: 'TEST_JAEGER', need: /\bjaegerOrSkip\(/, open: startJaeger },
  {
    name: 'cassandra',
    variable: 'TEST_CASSANDRA',
    need: /\bcassandraOrSkip\(/,
    open: (place: Place) => startCassandra({ ...place, settings: ENCRYPTED, isThrownAway: true }),
  },
] as const;

/** Server state of this user: a folder for each run, named after its process id. */
const RUNS_FOLDER = join(tmpdir(), `identity-engine-test-servers-${userInfo().uid}`);

/** Maximum time in ms to create the tables of a keyspace, on a busy machine. */
const MIGRATE_MS_MAX = 120_000;

type Variables = Readonly<Record<string, string>>;

/** Servers of a run. */
export type RunServers = AsyncDisposable & {
  /** Folder for temporary files, which is deleted at the end of the run. */
  readonly temporary: string;
  /** Whether each server that a job needs has started or failed to start. */
  isReady(job: Job): boolean;
  /** Environment variables of a job. Resolves when `isReady` is true. */
  variablesFor(job: Job, place: number): Promise<Variables>;
};

/**
 * Starts the servers that `jobs` need, and returns immediately. If an environment variable contains
 * the address of a server, that server is used. If a server does not start, the files receive the
 * reason and skip.
 */
export function startRunServers(jobs: readonly Job[]): RunServers {
  endAbandonedRuns();
  const sources = new Map(jobs.map(({ file }) => [file, readFileSync(file, 'utf8')]));
  const isNeeded = ({ name, need }: (typeof SERVERS)[number], { file, topology }: Job) =>
    topology === name || need.test(sources.get(file) ?? '');
  const folder = join(RUNS_FOLDER, `${process.pid}`);
  const wanted = SERVERS.filter(
    (server) =>
      process.env[server.variable] === undefined && jobs.some((job) => isNeeded(server, job)),
  );
  const temporary = join(folder, 'tmp');
  mkdirSync(temporary, { recursive: true });
  process.once('exit', () => endRun(folder));
  const running: LocalServer[] = [];
  const ready = new Set<string>();
  const starting = wanted.map((server) => {
    const { name, variable, open } = server;
    const place = { folder: join(folder, name), logFolder: join(folder, 'logs') };
    const variables = open({ ...place, print: console.log })
      .then(
        (server): Variables => {
          running.push(server);
          return { [variable]: server.address };
        },
        (error: Error): Variables => ({
          [`${variable}_MISSING`]: error.message.split('\n', 1)[0] ?? '',
        }),
      )
      .finally(() => ready.add(name));
    return { server, variables };
  });
  const keyspaces = new Map<string, Promise<Variables>>();
  return {
    temporary,
    isReady: (job) =>
      starting.every(({ server }) => ready.has(server.name) || !isNeeded(server, job)),
    variablesFor: async (job, place) => {
      const needed = starting.filter(({ server }) => isNeeded(server, job));
      const given = Object.assign(
        { TMPDIR: temporary },
        ...(await Promise.all(needed.map(({ variables }) => variables))),
      );
      if (job.topology !== 'cassandra') return given;
      const keyspace = `api_${process.pid}_${place}${job.isAlone ? '_alone' : ''}`;
      const tables = keyspaces.get(keyspace) ?? migratedKeyspace(given, keyspace);
      keyspaces.set(keyspace, tables);
      return { ...given, ...(await tables) };
    },
    [Symbol.asyncDispose]: async () => {
      await Promise.all(starting.map(({ variables }) => variables));
      for (const server of running) server.signal('SIGKILL');
      await Promise.all(running.map(({ ended }) => ended));
    },
  };
}

/**
 * Creates a keyspace with all tables. Each worker has a keyspace for its shared service and a
 * keyspace for files that run alone, because two services on the same tables would take over each
 * other's shards. Without Cassandra, resolves to no variables, so that the job skips.
 */
async function migratedKeyspace(given: Variables, keyspace: string): Promise<Variables> {
  const address = given['TEST_CASSANDRA'] ?? process.env['TEST_CASSANDRA'];
  if (address === undefined) return {};
  const tables = {
    SERVICE_CASSANDRA_CONTACT_POINTS: address,
    SERVICE_CASSANDRA_KEYSPACE: keyspace,
  };
  await runToEnd(process.execPath, ['services/main.ts', 'migrate'], tables, MIGRATE_MS_MAX);
  return { TEST_CASSANDRA: address, TEST_KEYSPACE: keyspace };
}

/** Kills the servers of killed runs. */
function endAbandonedRuns(): void {
  mkdirSync(RUNS_FOLDER, { recursive: true, mode: 0o700 });
  for (const run of readdirSync(RUNS_FOLDER)) {
    if (birthOf(Number(run)) !== undefined) continue;
    try {
      endRun(join(RUNS_FOLDER, run));
    } catch (error) {
      // For example a file system that a test has mounted and not unmounted.
      console.log(`a folder of an earlier run remains: ${error}`);
    }
  }
}

/** Kills all servers with state in the folder, and removes the folder. */
function endRun(folder: string): void {
  for (const file of globSync('**/server.json', { cwd: folder })) {
    const record = runningServer(join(folder, dirname(file)));
    if (record !== undefined) signalProcess(record, 'SIGKILL');
  }
  // A server killed just before may still write its last file.
  rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
}
