import { chown, realpath } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Client } from 'pg';
import { Child, environment, run } from '#bench/processes/child';
import { freePorts } from '#bench/processes/free-ports';
import { untilAnswered } from '#bench/processes/readiness';
import { temporaryFolder } from '#bench/processes/temporary-folder';
import { findProgram, MissingTool } from '#bench/processes/tool-path';

/** Debian's folder for PostgreSQL programs, with a sub-folder per version. */
const DEBIAN = '/usr/lib/postgresql';

/** User that runs the server if this process is root: PostgreSQL refuses to run as root. */
const USER = 'postgres';

/** PostgreSQL's programs, and how to run the server. */
export type PostgresTools = {
  readonly folder: string;
  /** Command prefix that runs a program as another user; empty if not needed. */
  readonly asUser: readonly string[];
  readonly owner: { readonly uid: number; readonly gid: number } | undefined;
  readonly version: string;
};

/**
 * A PostgreSQL server that this run started. PostgreSQL flushes a commit to disk before its answer.
 */
export type Postgres = AsyncDisposable & {
  readonly process: Child;
  /** Creates a database and returns its URL. */
  database(name: string): Promise<string>;
};

/**
 * Finds PostgreSQL's programs and the user to run them. Throws `MissingTool` if either is missing.
 */
export async function findPostgres(): Promise<PostgresTools> {
  const postgres = await findProgram('postgres', DEBIAN);
  if (postgres === undefined) {
    throw new MissingTool('PostgreSQL is not installed: run apt-get install postgresql');
  }
  const folder = dirname(await realpath(postgres));
  const text = await run(commandOf(join(folder, 'postgres'), ['--version']));
  const version = /\d+(\.\d+)+/.exec(text)?.[0] ?? text.trim();
  if (process.getuid?.() !== 0) return { folder, asUser: [], owner: undefined, version };
  const [uid = 0, gid = 0] = (await idsOf(USER)).map(Number);
  const asUser = ['setpriv', `--reuid=${uid}`, `--regid=${gid}`, '--clear-groups', '--'];
  return { folder, asUser, owner: { uid, gid }, version };
}

/** Starts PostgreSQL on loopback with an empty data folder, tuned for writes on a small machine. */
export async function startPostgres(tools: PostgresTools): Promise<Postgres> {
  await using opening = new AsyncDisposableStack();
  const folder = temporaryFolder();
  if (tools.owner !== undefined) await chown(folder, tools.owner.uid, tools.owner.gid);
  const data = join(folder, 'data');
  const initial = ['-D', data, '-U', USER, '-A', 'trust', '-E', 'UTF8', '--locale=C'];
  await run(asUser(tools, 'initdb', initial));
  const [port = 0] = await freePorts(1);
  const settings = {
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    fsync: 'on',
    synchronous_commit: 'on',
    // Rare checkpoints: after each, the first change of a page writes the whole page to the log.
    max_wal_size: '8GB',
    checkpoint_timeout: '15min',
    shared_buffers: '512MB',
    wal_buffers: '16MB',
    jit: 'off',
    // Two references keep connections open; the default of 100 would leave no reserve.
    max_connections: '120',
  };
  const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const child = opening.use(
    new Child(asUser(tools, 'postgres', ['-D', data, '-p', `${port}`, ...flags])),
  );
  const urlOf = (name: string) => `postgres://${USER}@127.0.0.1:${port}/${name}`;
  const query = async (text: string): Promise<true> => {
    const client = new Client({ connectionString: urlOf('postgres') });
    // While the server starts, a connection fails: the promise rejects and `error` is emitted.
    // Without a listener, `error` would end the process.
    client.on('error', () => {});
    try {
      await client.connect();
      await client.query(text);
    } finally {
      await client.end().catch(() => {});
    }
    return true;
  };
  await untilAnswered(child, () => query('SELECT 1'));
  const opened = opening.move();
  return {
    process: child,
    async database(name) {
      await query(`CREATE DATABASE ${name}`);
      return urlOf(name);
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

function asUser(tools: PostgresTools, name: string, args: readonly string[]) {
  const program = join(tools.folder, name);
  const [first = program, ...rest] = [...tools.asUser, program, ...args];
  return { name, program: first, args: rest, env: environment() };
}

function commandOf(program: string, args: readonly string[]) {
  return { name: program, program, args, env: environment() };
}

/** User id and group id of a user. */
async function idsOf(user: string): Promise<string[]> {
  try {
    const ids = ['-u', '-g'].map((which) => run(commandOf('id', [which, user])));
    return await Promise.all(ids);
  } catch {
    throw new MissingTool(
      `PostgreSQL does not run as root, and user ${user} is missing: run adduser --system ${user}`,
    );
  }
}
