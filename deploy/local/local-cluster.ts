import { setTimeout as sleep } from 'node:timers/promises';
import { cassandraVersionAt } from '#deploy/local/cassandra-answer';
import { assertBegunAlike, ringFormed, ringOf } from '#deploy/local/cassandra-ring';
import { startCassandra } from '#deploy/local/cassandra-server';
import type { CassandraSettings } from '#deploy/local/cassandra-settings';
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
import { assertPortFree } from '#deploy/local/free-port';
import { KeptProcess } from '#deploy/local/kept-process';
import { endLeftovers } from '#deploy/local/leftovers';
import type { LocalServer } from '#deploy/local/local-server';
import { natsVersionAt } from '#deploy/local/nats-answer';
import { startNats } from '#deploy/local/nats-server';
import { type ProcessStatus, processStatuses } from '#deploy/local/process-status';
import { type Print, printNothing, withProgress } from '#deploy/local/progress';
import { shardsServed } from '#deploy/local/readiness';
import { lastLine } from '#deploy/local/run-program';
import { signalProcess } from '#deploy/local/server-record';
import {
  runMigrate,
  startBalancer,
  startServiceProcess,
  type Variables,
} from '#deploy/local/service-process';

/** Every shard has an owner a few seconds after its node is ready; the rest is a busy machine. */
const SERVED_MS_MAX = 120_000;
const ASK_EVERY_MS = 200;

/** A schema change on a server that has just started may time out; it may be repeated. */
const MIGRATE_TRIES = 3;

/** What a local cluster is like, and what differs from the usual. */
export type LocalClusterOptions = ClusterSize & {
  /** Hears what takes long and which process ended. */
  readonly print?: Print;
  /** Replaces variables of a process: the address of Cassandra by that of a proxy, for instance. */
  readonly variablesOf?: (planned: PlannedProcess) => Variables;
  /** Of its own Cassandra, or of each. */
  readonly heapMb?: number;
  readonly settings?: CassandraSettings;
};

/**
 * Starts a cluster as processes on loopback and fulfils when every shard is served and a call with the
 * key goes through; disposing it ends everything and keeps its state. One cluster a folder at a time:
 * what an earlier one left running is ended first. Rejects with one line when a port is taken, and
 * with `MissingServer` when Cassandra or NATS cannot be had.
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

/** A server that was named must be there now: it cannot be started here. */
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

/** A cluster of processes on this machine, each of which can be disturbed by its name. */
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

  /** What it consists of now. */
  get plan(): ClusterPlan {
    return this.#plan;
  }

  /** A ready API key of an enterprise account, the same in every run on this folder. */
  get key(): string {
    return this.#key;
  }

  /** The names of all its processes, whether they run or not: `engine1`, `cassandra`, … */
  get names(): string[] {
    return [...this.#kept.keys()];
  }

  /** How often each process was started again because it had ended. */
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

  /** Fulfils when the engines and limiters that run serve every shard; rejects after two minutes. */
  async served(): Promise<void> {
    // The engines have that many, and so have the limiters.
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

  /** What each process does now, looked at. */
  statuses(): Promise<ProcessStatus[]> {
    return processStatuses(this.#plan, (name) => this.restarts[name] ?? 0);
  }

  /** The process id, while it runs. */
  pidOf(name: string): number | undefined {
    return this.#processOf(name).record?.pid;
  }

  /** Sends a signal at once. SIGKILL: it comes back after 2 s. SIGSTOP and SIGCONT pause and resume. */
  signal(name: string, signal: NodeJS.Signals): void {
    const { record } = this.#processOf(name);
    if (record !== undefined) signalProcess(record, signal);
  }

  /** Ends a process in good order and waits for it; it stays away until `start`. */
  stop(name: string): Promise<void> {
    return this.#processOf(name).stop();
  }

  /** Starts a process that was stopped; fulfils when it is ready. */
  start(name: string): Promise<void> {
    return this.#processOf(name).start();
  }

  /** Adds a node under the number after the highest; fulfils with its name when it is ready. */
  async add(kind: NodeKind): Promise<string> {
    const planned = nextNode(this.#plan, kind);
    await assertPortsFree(planned);
    this.#plan = planWith(this.#plan, planned);
    await this.#keep(planned).start();
    return planned.name;
  }

  /** Ends a node in good order, for good. Rejects when there is no other of its kind. */
  async remove(name: string): Promise<void> {
    const leaving = this.#processOf(name);
    // The plan first, so that no operator is sent to the admin port of a limiter that is leaving.
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
      // The rest of the text is the end of its log.
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

  /** One after the other: each finds those before it, and three at once would share few cores. */
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
