import { setTimeout as sleep } from 'node:timers/promises';
import {
  type ClusterPlan,
  type ClusterSize,
  clusterPlan,
  type NodeKind,
  nextNode,
  type PlannedProcess,
  type ProcessKind,
  planWith,
  planWithout,
  processFolder,
  STOP_ORDER,
} from '#deploy/local/cluster-plan';
import {
  type ClusterSecrets,
  clusterSecretFile,
  openSecrets,
  readyKey,
} from '#deploy/local/cluster-secrets';
import { KeptProcess } from '#deploy/local/processes/kept-process';
import { endLeftovers } from '#deploy/local/processes/leftovers';
import { type ProcessStatus, processStatuses } from '#deploy/local/processes/process-status';
import { shardsServed } from '#deploy/local/processes/readiness';
import { lastLine } from '#deploy/local/processes/run-program';
import {
  runMigrate,
  startBalancer,
  startServiceProcess,
  type Variables,
} from '#deploy/local/processes/service-process';
import { type Print, printNothing, withProgress } from '#deploy/local/progress';
import { cassandraVersionAt } from '#deploy/local/servers/cassandra-answer';
import { assertSameNodeCount, ringFormed, ringOf } from '#deploy/local/servers/cassandra-ring';
import { startCassandra } from '#deploy/local/servers/cassandra-server';
import type { CassandraSettings } from '#deploy/local/servers/cassandra-settings';
import { assertPortFree } from '#deploy/local/servers/free-port';
import type { LocalServer } from '#deploy/local/servers/local-server';
import { natsVersionAt } from '#deploy/local/servers/nats-answer';
import { startNats } from '#deploy/local/servers/nats-server';
import { signalProcess } from '#deploy/local/servers/server-record';

/** Maximum wait until all shards are served, in ms. On an idle machine, this takes seconds. */
const SERVED_MS_MAX = 120_000;
const ASK_EVERY_MS = 200;

/**
 * Maximum attempts of a migration. A schema change on a new server may time out; a repetition is
 * safe.
 */
const MIGRATE_TRIES = 3;

/** Options of a local cluster. */
export type LocalClusterOptions = ClusterSize & {
  /** Receives lines about slow steps and ended processes. */
  readonly print?: Print;
  /** Overrides variables of a process, for example Cassandra's address by a proxy's address. */
  readonly variablesOf?: (planned: PlannedProcess) => Variables;
  /** Heap of each Cassandra node, in MiB. */
  readonly heapMb?: number;
  readonly settings?: CassandraSettings;
};

/**
 * Starts a cluster as processes on loopback. Resolves when every shard is served and a call with
 * the key succeeds. Disposal stops all processes and keeps their state. A folder has one cluster at
 * a time: left-over processes are stopped first. Throws a one-line error if a port is in use, and
 * `MissingServer` if Cassandra or NATS is not available.
 */
export async function openLocalCluster(options: LocalClusterOptions): Promise<LocalCluster> {
  const plan = clusterPlan(options);
  assertSameNodeCount(options);
  await endLeftovers(plan.folder);
  await assertAnswering(options);
  for (const planned of plan.processes) await assertPortsFree(planned);
  await using opening = new AsyncDisposableStack();
  const secrets = await openSecrets(plan.folder);
  const cluster = opening.use(new LocalCluster(options, plan, secrets));
  await cluster.begin();
  opening.move();
  return cluster;
}

async function assertPortsFree(planned: PlannedProcess): Promise<void> {
  const { name, host, port, operatorsPort, otherPorts = [] } = planned;
  for (const each of [port, operatorsPort, ...otherPorts]) {
    if (each !== undefined) await assertPortFree(each, name, host);
  }
}

/** Throws unless the external servers answer, because this process cannot start them. */
async function assertAnswering({ cassandra, nats }: ClusterSize): Promise<void> {
  const looks = [
    [cassandra, 'Cassandra', cassandraVersionAt],
    [nats, 'NATS', natsVersionAt],
  ] as const;
  for (const [address, name, look] of looks) {
    if (address === undefined) continue;
    await look(address).catch(() => {
      throw new Error(`${name} does not answer at ${address}`);
    });
  }
}

/** Kinds of processes that start after the stores. */
const SERVICES = ['limiter', 'courier', 'engine', 'edge', 'console', 'balancer'] as const;

/** A cluster of processes on this machine. Methods stop, kill or pause a process by name. */
export class LocalCluster implements AsyncDisposable {
  readonly #options: LocalClusterOptions;
  readonly #print: Print;
  readonly #secrets: ClusterSecrets;
  readonly #kept = new Map<string, { planned: PlannedProcess; process: KeptProcess }>();
  #plan: ClusterPlan;
  #key = '';

  constructor(options: LocalClusterOptions, plan: ClusterPlan, secrets: ClusterSecrets) {
    this.#options = options;
    this.#print = options.print ?? printNothing;
    this.#plan = plan;
    this.#secrets = secrets;
    for (const planned of plan.processes) this.#keep(planned);
  }

  /** Current plan of the cluster. */
  get plan(): ClusterPlan {
    return this.#plan;
  }

  /** API key of an enterprise account, the same in every run on this folder. */
  get key(): string {
    return this.#key;
  }

  /** Names of all processes, running or not, such as `engine1` and `cassandra`. */
  get names(): string[] {
    return [...this.#kept.keys()];
  }

  /** Number of restarts after unexpected ends, by process. */
  get restarts(): Record<string, number> {
    const counts = [...this.#kept].map(([name, { process }]) => [name, process.restarts] as const);
    return Object.fromEntries(counts);
  }

  /** Starts all processes; see `openLocalCluster`. */
  async begin(): Promise<void> {
    const print = this.#print;
    await Promise.all([this.#startAll(['nats']), this.#startCassandras()]);
    await withProgress(print, 'creating the tables', () => this.#migrate());
    const services = () => this.#startAll(SERVICES);
    await withProgress(
      print,
      'starting limiters, couriers, engines, edges, consoles, balancer',
      services,
    );
    await this.served();
    this.#key = await readyKey(this.#plan, this.#secrets);
  }

  /** Resolves when engines and limiters serve every shard; throws after two minutes. */
  async served(): Promise<void> {
    // Engines and limiters have the same number of shards.
    const shards = 2 * this.#plan.shards;
    const deadlineMs = performance.now() + SERVED_MS_MAX;
    let count = 0;
    const wait = async (): Promise<void> => {
      for (;;) {
        count = await shardsServed(this.#plan);
        if (count === shards) return;
        if (performance.now() > deadlineMs) throw new Error(`${count} of ${shards} shards served`);
        await sleep(ASK_EVERY_MS);
      }
    };
    await withProgress(this.#print, 'waiting for every shard', wait, () => `${count} of ${shards}`);
  }

  /** Current status of every process. */
  statuses(): Promise<ProcessStatus[]> {
    return processStatuses(this.#plan, (name) => this.restarts[name] ?? 0);
  }

  /** Process id; undefined if the process does not run. */
  pidOf(name: string): number | undefined {
    return this.#processOf(name).record?.pid;
  }

  /**
   * Sends a signal. After SIGKILL, the process restarts in 2 s. SIGSTOP pauses, SIGCONT resumes.
   */
  signal(name: string, signal: NodeJS.Signals): void {
    const { record } = this.#processOf(name);
    if (record !== undefined) signalProcess(record, signal);
  }

  /** Stops a process cleanly and waits for its end. The process stays stopped until `start`. */
  stop(name: string): Promise<void> {
    return this.#processOf(name).stop();
  }

  /** Starts a stopped process; resolves when it is ready. */
  start(name: string): Promise<void> {
    return this.#processOf(name).start();
  }

  /** Adds a node with the next number. Returns its name when the node is ready. */
  async add(kind: NodeKind): Promise<string> {
    const planned = nextNode(this.#plan, kind);
    await assertPortsFree(planned);
    this.#plan = planWith(this.#plan, planned);
    await this.#keep(planned).start();
    return planned.name;
  }

  /** Removes a node after a clean stop. Throws if the node is the last of its kind. */
  async remove(name: string): Promise<void> {
    const leaving = this.#processOf(name);
    // Change the plan first, so that no operator uses the admin port of a leaving limiter.
    this.#plan = planWithout(this.#plan, name);
    await leaving.stop();
    this.#kept.delete(name);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const kind of STOP_ORDER) {
      await Promise.all(this.#ofKind(kind).map(({ process }) => process.stop()));
    }
  }

  #keep(planned: PlannedProcess): KeptProcess {
    const process = new KeptProcess({
      name: planned.name,
      folder: processFolder(this.#plan.folder, planned.name),
      open: () => this.#open(planned),
      // Print only the first line; further lines are the end of the log.
      onEnd: (how) => this.#print(`${firstLine(how)}; restarting in 2 s`),
    });
    this.#kept.set(planned.name, { planned, process });
    return process;
  }

  #open(planned: PlannedProcess): Promise<LocalServer> {
    const { kind, name, port } = planned;
    const place = {
      folder: processFolder(this.#plan.folder, name),
      logFolder: this.#plan.logFolder,
    };
    const print = this.#print;
    if (kind === 'nats') return startNats({ ...place, port, print });
    if (kind === 'cassandra') {
      const { heapMb, settings } = this.#options;
      const ring = ringOf(planned, this.#plan);
      const own = {
        ...(heapMb && { heapMb }),
        ...(settings && { settings }),
        ...(ring && { ring }),
      };
      return startCassandra({ ...place, name, port, print, ...own });
    }
    if (kind === 'balancer') return startBalancer(place, planned, this.#plan);
    return startServiceProcess(place, planned, this.#variablesOf(planned));
  }

  #variablesOf(planned: PlannedProcess): Variables {
    const secret = { SERVICE_CLUSTER_SECRET_FILE: clusterSecretFile(this.#plan.folder) };
    const usual = { ...this.#plan.shared, ...secret, ...planned.variables };
    return { ...usual, ...this.#options.variablesOf?.(planned) };
  }

  async #startAll(kinds: readonly ProcessKind[]): Promise<void> {
    const all = kinds.flatMap((kind) => this.#ofKind(kind));
    await Promise.all(all.map(({ process }) => process.start()));
  }

  /**
   * Starts the nodes sequentially: a node joins the ring of earlier nodes, and three simultaneous
   * starts would overload a small machine.
   */
  async #startCassandras(): Promise<void> {
    const all = this.#ofKind('cassandra');
    for (const { process } of all) await process.start();
    const servers = all.map(({ planned }) => planned);
    const wait = () => ringFormed(servers);
    await withProgress(this.#print, 'waiting until the Cassandra nodes form a ring', wait);
  }

  async #migrate(): Promise<void> {
    for (let tries = 1; ; tries += 1) {
      const { isOk, output } = await runMigrate(this.#plan.shared);
      if (isOk) return;
      if (tries === MIGRATE_TRIES)
        throw new Error(`could not create the tables: ${lastLine(output)}`);
    }
  }

  #ofKind(kind: ProcessKind) {
    return [...this.#kept.values()].filter(({ planned }) => planned.kind === kind);
  }

  #processOf(name: string): KeptProcess {
    const found = this.#kept.get(name);
    if (found === undefined)
      throw new Error(`unknown process ${name}; the processes are ${this.names}`);
    return found.process;
  }
}

function firstLine(text: string): string {
  return text.split('\n', 1)[0] ?? '';
}
