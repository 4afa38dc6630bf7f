import { globSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { dirname, join } from 'node:path';
import { startCassandra } from '#deploy/local/cassandra-server';
import { startJaeger } from '#deploy/local/jaeger-server';
import type { LocalServer } from '#deploy/local/local-server';
import { startNats } from '#deploy/local/nats-server';
import { birthOf } from '#deploy/local/process-birth';
import { runningServer, signalProcess } from '#deploy/local/server-record';
import { startStripeMock } from '#deploy/local/stripe-mock-server';
import type { Job } from '#test/support/file-run';
import { pemOf } from '#test/support/server-certificates';

/*
 * The servers that one test run shares: started once, and only those that a wanted file names. Their
 * state is thrown away with them.
 */

type Place = Parameters<typeof startCassandra>[0];

/** TLS beside plain text on the same port, for clients with a certificate of the same authority. */
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

/**
 * The servers, the quickest to start first: by the variable that gives a test file the address, and how
 * a file says that it needs one.
 */
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
    open: (place: Place) => startCassandra({ ...place, settings: ENCRYPTED }),
  },
] as const;

/** Where runs of this user keep the state of their servers, each in a folder named by its process id. */
const RUNS_FOLDER = join(tmpdir(), `identity-engine-test-servers-${userInfo().uid}`);

type Variables = Readonly<Record<string, string>>;

/** The servers of this run. */
export type RunServers = AsyncDisposable & {
  /** How long a job has to wait for servers, as a rank: 0 for one that needs none. */
  waitOf(job: Job): number;
  /** What the file receives, once the servers that it needs answer or are known to be missing. */
  variablesFor(job: Job): Promise<Variables>;
};

/**
 * Begins to start what `jobs` need and returns at once. One that the caller has named in the
 * environment is used as it is; one that cannot be had is named to the files, which then skip.
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
  const starting = wanted.map((server) => {
    const { name, variable, open } = server;
    const place = { folder: join(folder, name), logFolder: join(folder, 'logs') };
    const variables = open({ ...place, print: console.log }).then(
      (server): Variables => {
        running.push(server);
        return { [variable]: server.address };
      },
      (error: Error): Variables => ({
        [`${variable}_MISSING`]: error.message.split('\n', 1)[0] ?? '',
      }),
    );
    return { server, variables };
  });
  const neededBy = (job: Job) => starting.filter(({ server }) => isNeeded(server, job));
  return {
    waitOf: (job) => starting.findLastIndex(({ server }) => isNeeded(server, job)) + 1,
    variablesFor: async (job) =>
      Object.assign(
        // What a file that is killed has started lies under the run's own folder and is found there.
        { TMPDIR: temporary },
        ...(await Promise.all(neededBy(job).map(({ variables }) => variables))),
      ),
    [Symbol.asyncDispose]: async () => {
      await Promise.all(starting.map(({ variables }) => variables));
      for (const server of running) server.signal('SIGKILL');
      await Promise.all(running.map(({ ended }) => ended));
    },
  };
}

/** A run that was killed could not end its servers; the next one does it. */
function endAbandonedRuns(): void {
  mkdirSync(RUNS_FOLDER, { recursive: true, mode: 0o700 });
  for (const run of readdirSync(RUNS_FOLDER)) {
    if (birthOf(Number(run)) === undefined) endRun(join(RUNS_FOLDER, run));
  }
}

/** Kills every server that has its state under the folder, and removes the folder. */
function endRun(folder: string): void {
  for (const file of globSync('**/server.json', { cwd: folder })) {
    const record = runningServer(join(folder, dirname(file)));
    if (record !== undefined) signalProcess(record, 'SIGKILL');
  }
  // A server that was killed a moment ago may still be writing its last file.
  rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
}
