import { setTimeout as sleep } from 'node:timers/promises';
import type { PlannedProcess } from '#deploy/local/cluster-plan';
import type { LocalCluster } from '#deploy/local/local-cluster';
import { shardsServed } from '#deploy/local/processes/readiness';
import type { Print } from '#deploy/local/progress';
import { Findings } from '#test/chaos/checks/findings';
import type { FaultProxy } from '#test/chaos/faults/fault-proxy';
import type { LimiterOutage } from '#test/chaos/faults/limiter-outage';
import type { StoreOutage } from '#test/chaos/faults/store-outage';
import type { Disturbance } from '#test/chaos/timeline';

/** Polling interval for served shards, in milliseconds. */
const POLL_EVERY_MS = 50;

/** Maximum wait for served shards before the run continues, in milliseconds. */
const SERVED_MS_MAX = 90_000;

/**
 * Number of consecutive polls that must find every shard served. A single poll could read the last
 * metrics of a dead node.
 */
const STEADY_READS = 2;

/** A cluster under faults, with a record of all faults and their times. */
export class Scene {
  readonly cluster: LocalCluster;
  /** Ids of the accounts that the load uses. */
  readonly accounts: readonly string[];
  readonly #proxy: FaultProxy | undefined;
  readonly disturbances: Disturbance[] = [];
  readonly outages: LimiterOutage[] = [];
  readonly storeOutages: StoreOutage[] = [];
  /** Findings during the faults. */
  readonly findings = new Findings();
  /** Number of kills of each process. The keys are process names. */
  readonly kills = new Map<string, number>();
  readonly #print: Print;
  /** Number of restarts of each process before the first fault. The keys are process names. */
  readonly #restartsBefore: Readonly<Record<string, number>>;
  #fault = '';

  constructor(
    cluster: LocalCluster,
    accounts: readonly string[],
    proxy: FaultProxy | undefined,
    print: Print,
  ) {
    this.cluster = cluster;
    this.accounts = accounts;
    this.#proxy = proxy;
    this.#print = print;
    this.#restartsBefore = cluster.restarts;
  }

  /** Proxy between engines and Cassandra. Throws if the run has no proxy. */
  get proxy(): FaultProxy {
    if (this.#proxy === undefined) throw new Error('the run has no fault proxy');
    return this.#proxy;
  }

  /** Names of the current processes of a kind. */
  named(kind: 'engine' | 'limiter' | 'edge' | 'courier' | 'cassandra'): string[] {
    return this.cluster.names.filter((name) => name.startsWith(kind));
  }

  /** Planned process with this name. Throws if there is none. */
  plannedOf(name: string): PlannedProcess {
    const planned = this.cluster.plan.processes.find((process) => process.name === name);
    if (planned === undefined) throw new Error(`the cluster has no process ${name}`);
    return planned;
  }

  /** Kills a process with SIGKILL. Its supervisor restarts the process. */
  kill(name: string): void {
    this.kills.set(name, (this.kills.get(name) ?? 0) + 1);
    this.cluster.signal(name, 'SIGKILL');
  }

  /** Pauses a process with SIGSTOP, and continues the process after `ms` milliseconds. */
  async pause(name: string, ms: number): Promise<void> {
    this.cluster.signal(name, 'SIGSTOP');
    await sleep(ms);
    this.cluster.signal(name, 'SIGCONT');
  }

  /** One finding for each process that ended without a kill. */
  get endedThemselves(): string[] {
    const ended = Object.entries(this.cluster.restarts).map(([name, restarts]) => {
      const before = this.#restartsBefore[name] ?? 0;
      const count = restarts - before - (this.kills.get(name) ?? 0);
      return count > 0 ? `${name} ended unexpectedly ${count} times: see its log` : '';
    });
    return ended.filter((line) => line !== '');
  }

  /** Name of the current fault, recorded with its disturbances. */
  set fault(name: string) {
    this.#fault = name;
  }

  /** Runs one step of a fault and records its start and end. */
  async disturb<Result>(text: string, action: () => Promise<Result> | Result): Promise<Result> {
    const fromMs = performance.now();
    const disturbance = {
      fault: this.#fault,
      text,
      fromMs,
      toMs: fromMs,
      servedAfterMs: undefined,
    };
    this.disturbances.push(disturbance);
    this.#print(`  ${text}`);
    try {
      return await action();
    } finally {
      disturbance.toMs = performance.now();
    }
  }

  /**
   * Waits until engines and limiters serve every shard, or until the maximum wait. Nodes in `gone`
   * do not count: other nodes must serve the shards of these nodes. In this case, the last
   * disturbance receives the time from its start until all shards were served.
   */
  async served(gone: readonly string[] = []): Promise<void> {
    const disturbance = this.disturbances.at(-1);
    const startMs = disturbance?.fromMs ?? performance.now();
    // Engines and limiters each serve `plan.shards` shards.
    const shards = 2 * this.cluster.plan.shards;
    let sinceMs = performance.now();
    for (let steady = 0; steady < STEADY_READS; ) {
      const nowMs = performance.now();
      if (nowMs - startMs > SERVED_MS_MAX) {
        this.#print('  some shard is not served after 90 s');
        return;
      }
      const processes = this.cluster.plan.processes.filter(({ name }) => !gone.includes(name));
      const isServed = (await shardsServed({ processes })) === shards;
      if (isServed && steady === 0) sinceMs = nowMs;
      steady = isServed ? steady + 1 : 0;
      await sleep(POLL_EVERY_MS);
    }
    if (disturbance !== undefined && gone.length > 0) disturbance.servedAfterMs = sinceMs - startMs;
  }
}
