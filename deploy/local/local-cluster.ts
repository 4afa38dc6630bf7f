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
import { assertBegunAlike, ringFormed, ringOf } from '#deploy/local/servers/cassandra-ring';
import { startCassandra } from '#deploy/local/servers/cassandra-server';
import type { CassandraSettings } from '#deploy/local/servers/cassandra-settings';
import { assertPortFree } from '#deploy/local/servers/free-port';
import type { LocalServer } from '#deploy/local/servers/local-server';
import { natsVersionAt } from '#deploy/local/servers/nats-answer';
import { startNats } from '#deploy/local/servers/nats-server';
import { signalProcess } from '#deploy/local/servers/server-record';

/**
 * Maximum wait until all shards are served, in milliseconds. It takes seconds on an idle machine.
 */
const SERVED_MS_MAX = 120_000;
const ASK_EVERY_MS = 200;

/**
 * Maximum number of attempts of a migration. A schema change on a new server may time out;
 * repetition is safe.
 */
const MIGRATE_TRIES = 3;

/** Options of a local cluster, with deviations from the defaults. */
export type LocalClusterOptions = ClusterSize & {
  /** Receives lines about slow steps and ended processes. */
  readonly print?: Print;
  /** Replaces variables of a process, for example Cassandra's address by a proxy's. */
  readonly variablesOf?: (planned: PlannedProcess) => Variables;
  /** Heap of each own Cassandra, in MiB. */
  readonly heapMb?: number;
  readonly settings?: CassandraSettings;
};

/**
 * Starts a cluster as processes on loopback. Resolves when every shard is served and a call with
 * the key succeeds. Disposing stops all processes and keeps their state. A folder has one cluster
 * at a time: left-over processes are stopped first. Rejects with one line if a port is in use, and
 * with `MissingServer` if Cassandra or NATS is not available.
 */
export async function openLocalCluster(options: LocalClusterOptions): Promise<LocalCluster> {
  const plan = clusterPlan(options);
  assertBegunAlike(options);
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

/** Rejects unless the external servers answer, because they cannot be started here. */
async function assertAnswering({ cassandra, nats }: ClusterSize): Promise<void> {
  const looks = [
    [cassandra, 'Cassandra', cassandraVersionAt],
    [nats, 'NATS', natsVersionAt],
  ] as const;
  for (const [address, name, look] of looks) {
    if (address === undefined) continue;
    await look(address).catch(() => {
      throw new Error(`no ${name} answers at ${address}`);
    });
  }
}

/** A cluster of processes on this machine. Each process can be disturbed by name. */
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

  /** Present plan of the cluster. */
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

  /** Starts everything for the first time; see `openLocalCluster`. */
  async begin(): Promise<void> {
    const print = this.#print;
    await Promise.all([this.#startAll(['nats']), this.#startCassandras()]);
    await withProgress(print, 'making the tables', () => this.#migrate());
    const services = () => this.#startAll(['limiter', 'engine', 'edge', 'console', 'balancer']);
    await withProgress(print, 'starting limiters, engines, edges, consoles, balancer', services);
    await this.served();
    this.#key = await readyKey(this.#plan, this.#secrets);
  }

  /** Resolves when the engines and limiters serve every shard; rejects after two minutes. */
  async served(): Promise<void> {
    // Engines and limiters have this number of shards each.
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

  /** Present status of every process. */
  statuses(): Promise<ProcessStatus[]> {
    return processStatuses(this.#plan, (name) => this.restarts[name] ?? 0);
  }

  /** Process id; undefined if the process does not run. */
  pidOf(name: string): number | undefined {
    return this.#processOf(name).record?.pid;
  }

  /**
   * Sends a signal. After SIGKILL the process restarts within 2 s. SIGSTOP and SIGCONT pause and
   * resume.
   */
  signal(name: string, signal: NodeJS.Signals): void {
    const { record } = this.#processOf(name);
    if (record !== undefined) signalProcess(record, signal);
  }

  /** Stops a process in order and waits for its end. It stays stopped until `start`. */
  stop(name: string): Promise<void> {
    return this.#processOf(name).stop();
  }

  /** Starts a stopped process; resolves when it is ready. */
  start(name: string): Promise<void> {
    return this.#processOf(name).start();
  }

  /** Adds a node, numbered after the highest. Resolves with its name when it is ready. */
  async add(kind: NodeKind): Promise<string> {
    const planned = nextNode(this.#plan, kind);
    await assertPortsFree(planned);
    this.#plan = planWith(this.#plan, planned);
    await this.#keep(planned).start();
    return planned.name;
  }

  /** Stops a node in order, for good. Rejects if the node is the last of its kind. */
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
      // Further lines of the text are the end of the log.
      onEnd: (how) => this.#print(`${firstLine(how)}; it is started again after 2 s`),
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
   * Starts the nodes sequentially: each joins the previous ones, and three at once would overload
   * few cores.
   */
  async #startCassandras(): Promise<void> {
    const all = this.#ofKind('cassandra');
    for (const { process } of all) await process.start();
    const servers = all.map(({ planned }) => planned);
    const wait = () => ringFormed(servers);
    await withProgress(this.#print, 'waiting until the Cassandra nodes see each other', wait);
  }

  async #migrate(): Promise<void> {
    for (let tries = 1; ; tries += 1) {
      const { isOk, output } = await runMigrate(this.#plan.shared);
      if (isOk) return;
      if (tries === MIGRATE_TRIES) throw new Error(`no tables: ${lastLine(output)}`);
    }
  }

  #ofKind(kind: ProcessKind) {
    return [...this.#kept.values()].filter(({ planned }) => planned.kind === kind);
  }

  #processOf(name: string): KeptProcess {
    const found = this.#kept.get(name);
    if (found === undefined) throw new Error(`there is no ${name}; there are ${this.names}`);
    return found.process;
  }
}

function firstLine(text: string): string {
  return text.split('\n', 1)[0] ?? '';
}
