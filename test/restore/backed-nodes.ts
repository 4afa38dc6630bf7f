import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ringFormed } from '#deploy/local/cassandra-ring';
import { type CassandraRing, startCassandra } from '#deploy/local/cassandra-server';
import type { PlannedProcess } from '#deploy/local/cluster-plan';
import { freePort } from '#deploy/local/free-port';
import type { LocalServer } from '#deploy/local/local-server';
import { runNodetool } from '#deploy/local/nodetool';
import type { Print } from '#deploy/local/progress';
import { lastLine, runProgram } from '#deploy/local/run-program';

/** Enough for this load, in MiB. */
const HEAP_MB = 512;

/** So small that a short load closes some, and large enough for the mutations of Cassandra's start. */
const SEGMENTS = { commitlog_segment_size: '2MiB' };

const SCRIPT_MS_MAX = 60_000;

/** Longer than Cassandra tries a write for (`write_request_timeout`, 2 s). Milliseconds. */
const QUIET_MS = 5_000;

/** Offsets into the block of ports: those that a cluster of its own Cassandra would have there. */
const [CQL, STORAGE] = [3, 4];

/** Where everything of a rehearsal is. */
export type Place = {
  readonly folder: string;
  readonly ports: number;
  /** Cassandra nodes, each with a copy of everything. */
  readonly nodes: 1 | 3;
  readonly print: Print;
};

/** Cassandra nodes whose commit logs are archived. */
export type BackedNodes = AsyncDisposable & {
  /** Of the first. */
  readonly address: string;
  /** Takes a snapshot of every table of every node, and keeps it. */
  readonly snapshot: (name: string) => Promise<void>;
  /** Makes a moment to restore to. Fulfils with its name at each node, in their order. */
  readonly mark: () => Promise<string[]>;
  readonly kill: () => void;
  /** Fulfils when all are gone. */
  readonly ended: () => Promise<unknown>;
};

/** The folders of a node. `life` counts restores: each begins a state and an archive of its own. */
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

/** The numbers of the nodes: 1 and on. */
export function numbersOf({ nodes }: Pick<Place, 'nodes'>): number[] {
  return Array.from({ length: nodes }, (_, index) => index + 1);
}

type Node = {
  readonly server: LocalServer;
  readonly jmxPort: number;
  readonly folders: ReturnType<typeof foldersOf>;
};

/** Starts them; with `restores`, on what lies in their folders, replaying the segments there. */
export async function openBackedNodes(
  place: Place,
  life: number,
  restores: boolean,
): Promise<BackedNodes> {
  await using opening = new AsyncDisposableStack();
  const nodes: Node[] = [];
  // One after the other: each finds those before it.
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
      // Nothing may be written between the first mark and the last.
      const startedMs = performance.now();
      await onAll('disablebinary');
      await sleep(QUIET_MS);
      const marks = await markAll();
      await onAll('enablebinary');
      const seconds = (performance.now() - startedMs) / 1_000;
      place.print(`marked; no client could write for ${seconds.toFixed(0)} s`);
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
