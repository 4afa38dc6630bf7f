import { join } from 'node:path';
import { startCassandra } from '#deploy/local/cassandra-server';
import { freePort } from '#deploy/local/free-port';
import { type LocalCluster, openLocalCluster } from '#deploy/local/local-cluster';
import type { LocalServer } from '#deploy/local/local-server';
import { runNodetool } from '#deploy/local/nodetool';
import type { Print } from '#deploy/local/progress';
import { lastLine, runProgram } from '#deploy/local/run-program';

/** Enough for this load, in MiB. */
const HEAP_MB = 512;

/** So small that a short load closes some, and large enough for the mutations of Cassandra's start. */
const SEGMENTS = { commitlog_segment_size: '2MiB' };

const SCRIPT_MS_MAX = 60_000;

/** Where everything of a rehearsal is. */
export type Place = { readonly folder: string; readonly ports: number; readonly print: Print };

/** A cluster of one of each on a Cassandra whose commit log is archived. */
export type BackedCluster = AsyncDisposable & {
  readonly cluster: LocalCluster;
  readonly cassandra: LocalServer;
  /** When its processes began to start. */
  readonly beganMs: number;
  /** Takes a snapshot of every table, and keeps it. */
  readonly snapshot: (name: string) => Promise<void>;
  /** Makes a moment to restore to. Fulfils with its name. */
  readonly mark: () => Promise<string>;
  /** Kills every process at once, Cassandra too, and fulfils when all are gone for good. */
  readonly killAll: () => Promise<void>;
};

/** The folders of a rehearsal. `life` counts restores: each begins a state and an archive of its own. */
export function foldersOf({ folder }: Pick<Place, 'folder'>, life: number) {
  const server = join(folder, `cassandra-${life}`);
  return {
    server,
    data: join(server, 'state', 'data'),
    log: join(server, 'state', 'commitlog'),
    archive: join(folder, `archive-${life}`),
    snapshots: join(folder, 'snapshots'),
    replay: join(folder, `replay-${life}`),
  };
}

/** Starts it; with `restores`, on what lies in its folders, replaying the segments there. */
export async function openBackedCluster(
  place: Place,
  life: number,
  restores: boolean,
): Promise<BackedCluster> {
  const { folder, ports, print } = place;
  const { server, data, log, archive, snapshots, replay } = foldersOf(place, life);
  const jmxPort = await freePort();
  const beganMs = Date.now();
  let isKilled = false;
  await using opening = new AsyncDisposableStack();
  const cassandra = opening.use(
    await startCassandra({
      folder: server,
      logFolder: join(folder, 'logs'),
      jmxPort,
      heapMb: HEAP_MB,
      settings: SEGMENTS,
      archiving: { archive, restore: restores ? replay : undefined },
      print,
    }),
  );
  // What it says of processes that are killed on purpose is of no use.
  const said = (line: string) => void (isKilled || print(line));
  const size = { engines: 1, limiters: 1, edges: 1, shards: 16 };
  const named = { folder: join(folder, 'cluster'), ports, cassandra: cassandra.address };
  const cluster = opening.use(await openLocalCluster({ ...named, ...size, print: said }));
  const opened = opening.move();
  return {
    cluster,
    cassandra,
    beganMs,
    async snapshot(name) {
      await runNodetool(jmxPort, 'snapshot', '-t', name);
      await runScript('keep-snapshot.sh', data, name, join(snapshots, name));
    },
    mark: async () => lastLine(await runScript('mark-log.sh', log, archive)),
    async killAll() {
      isKilled = true;
      for (const name of cluster.names) cluster.signal(name, 'SIGKILL');
      cassandra.signal('SIGKILL');
      await cluster[Symbol.asyncDispose]();
      await cassandra.ended;
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

/** Runs a script of `deploy/backup`, as an operator does. Rejects with its last line. */
export async function runScript(name: string, ...args: readonly string[]): Promise<string> {
  const script = join('deploy/backup', name);
  const { isOk, output } = await runProgram({
    program: 'sh',
    args: [script, ...args],
    msMax: SCRIPT_MS_MAX,
  });
  if (!isOk) throw new Error(`${script}: ${lastLine(output)}`);
  return output;
}
