import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { PlannedProcess } from '#deploy/local/cluster-plan';
import { lastLine, runProgram } from '#deploy/local/processes/run-program';
import type { Print } from '#deploy/local/progress';
import { ringFormed } from '#deploy/local/servers/cassandra-ring';
import {
  type CassandraRing,
  runNodetool,
  startCassandra,
} from '#deploy/local/servers/cassandra-server';
import { freePort } from '#deploy/local/servers/free-port';
import type { LocalServer } from '#deploy/local/servers/local-server';

/** Cassandra's heap in MiB, enough for this load. */
const HEAP_MB = 512;

/**
 * Segment size: small, so that a short load closes segments, but large enough for Cassandra's own
 * mutations at start.
 */
const SEGMENTS = { commitlog_segment_size: '2MiB' };

const SCRIPT_MS_MAX = 60_000;

/**
 * Time to wait for writes in flight, in milliseconds. It exceeds Cassandra's
 * `write_request_timeout` of 2 s.
 */
const QUIET_MS = 5_000;

/** Port offsets for CQL and storage, as in a local cluster with its own Cassandra. */
const [CQL, STORAGE] = [3, 4];

/** Folder and ports of a rehearsal. */
export type Place = {
  readonly folder: string;
  readonly ports: number;
  /** Number of Cassandra nodes, all full replicas. */
  readonly nodes: 1 | 3;
  readonly print: Print;
};

/** Cassandra nodes with archived commit logs. */
export type BackedNodes = AsyncDisposable & {
  /** Address of the first node. */
  readonly address: string;
  /** Takes a snapshot of every table on every node, and copies the snapshot. */
  readonly snapshot: (name: string) => Promise<void>;
  /** Marks a restore point. Resolves with the names of the mark on all nodes, in order. */
  readonly mark: () => Promise<string[]>;
  readonly kill: () => void;
  /** Resolves when all nodes have ended. */
  readonly ended: () => Promise<unknown>;
};

/**
 * Folders of a node. `life` is 1 before the restore and 2 afterwards. Each life has its own data
 * and archive.
 */
export function foldersOf({ folder }: Pick<Place, 'folder'>, life: number, node: number) {
  const server = join(folder, `cassandra${node}-${life}`);
  return {
    server,
    data: join(server, 'state', 'data'),
    log: join(server, 'state', 'commitlog'),
    archive: join(folder, `archive${node}-${life}`),
    snapshots: join(folder, `snapshots${node}`),
    replay: join(folder, `replay${node}-${life}`),
  };
}

/** Node numbers, from 1. */
export function numbersOf({ nodes }: Pick<Place, 'nodes'>): number[] {
  return Array.from({ length: nodes }, (_, index) => index + 1);
}

type Node = {
  readonly server: LocalServer;
  readonly jmxPort: number;
  readonly folders: ReturnType<typeof foldersOf>;
};

/** Starts the nodes. With `restores`, uses the data in their folders and replays commit logs. */
export async function openBackedNodes(
  place: Place,
  life: number,
  restores: boolean,
): Promise<BackedNodes> {
  await using opening = new AsyncDisposableStack();
  const nodes: Node[] = [];
  // Sequential, because each node joins the earlier nodes.
  for (const number of numbersOf(place)) {
    const folders = foldersOf(place, life, number);
    const jmxPort = await freePort();
    const archiving = {
      archive: folders.archive,
      restore: restores ? folders.replay : undefined,
    };
    const server = await startNode(place, { number, folders, jmxPort, archiving });
    nodes.push({ server: opening.use(server), jmxPort, folders });
  }
  await ringFormed(place.nodes === 1 ? [] : numbersOf(place).map((one) => plannedNode(place, one)));
  const opened = opening.move();
  const onAll = (...args: readonly string[]) =>
    Promise.all(nodes.map(({ jmxPort }) => runNodetool(jmxPort, ...args)));
  const markAll = () =>
    Promise.all(
      nodes.map(async ({ folders: { log, archive } }) =>
        lastLine(await runScript('mark-log.sh', log, archive)),
      ),
    );
  return {
    address: nodes[0]?.server.address ?? '',
    async snapshot(name) {
      for (const { jmxPort, folders } of nodes) {
        await runNodetool(jmxPort, 'snapshot', '-t', name);
        await runScript('keep-snapshot.sh', folders.data, name, join(folders.snapshots, name));
      }
    },
    async mark() {
      if (nodes.length === 1) return markAll();
      // No write may happen between the first mark and the last.
      const startedMs = performance.now();
      await onAll('disablebinary');
      await sleep(QUIET_MS);
      const marks = await markAll();
      await onAll('enablebinary');
      const seconds = (performance.now() - startedMs) / 1_000;
      place.print(`marked the restore point; writes were blocked for ${seconds.toFixed(0)} s`);
      return marks;
    },
    kill() {
      for (const { server } of nodes) server.signal('SIGKILL');
    },
    ended: () => Promise.all(nodes.map(({ server }) => server.ended)),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

type NodeOptions = Pick<Node, 'folders' | 'jmxPort'> & {
  readonly number: number;
  readonly archiving: { readonly archive: string; readonly restore: string | undefined };
};

function startNode(place: Place, { number, folders, jmxPort, archiving }: NodeOptions) {
  const { folder, ports, nodes, print } = place;
  const hosts = numbersOf(place).map(hostOf);
  const ring: CassandraRing = { host: hostOf(number), hosts, storagePort: ports + STORAGE };
  return startCassandra({
    folder: folders.server,
    logFolder: join(folder, 'logs'),
    name: `cassandra${number}`,
    port: ports + CQL,
    jmxPort,
    heapMb: HEAP_MB,
    settings: SEGMENTS,
    archiving,
    print,
    ...(nodes === 1 ? {} : { ring }),
  });
}

function plannedNode({ ports }: Place, number: number): PlannedProcess {
  const name = `cassandra${number}`;
  return { name, kind: 'cassandra', host: hostOf(number), port: ports + CQL, variables: {} };
}

function hostOf(number: number): string {
  return `127.0.0.${number}`;
}

/**
 * Runs a script of `deploy/backup`, as an operator does. If the script fails, rejects with the last
 * line of its output.
 */
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
