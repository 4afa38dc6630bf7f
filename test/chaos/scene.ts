import { setTimeout as sleep } from 'node:timers/promises';
import type { PlannedProcess } from '#deploy/local/cluster-plan';
import type { LocalCluster } from '#deploy/local/local-cluster';
import type { Print } from '#deploy/local/progress';
import { shardsServed } from '#deploy/local/readiness';
import type { FaultProxy } from '#test/chaos/fault-proxy';
import { Findings } from '#test/chaos/findings';
import type { LimiterOutage } from '#test/chaos/limiter-outage';
import type { StoreOutage } from '#test/chaos/store-outage';
import type { Disturbance } from '#test/chaos/timeline';

/** How often nodes are asked how many shards they serve, in milliseconds. */
const ASK_EVERY_MS = 50;

/** How long shards may stay unserved before the run goes on without, in milliseconds. */
const SERVED_MS_MAX = 90_000;

/** How long a state must last to count: what a dead node owned is not served by its last number. */
const STEADY_LOOKS = 2;

/** The cluster that is disturbed, and the record of what was done to it and when. */
export class Scene {
  readonly cluster: LocalCluster;
  /** Of the load. */
  readonly accounts: readonly string[];
  readonly #proxy: FaultProxy | undefined;
  readonly disturbances: Disturbance[] = [];
  readonly outages: LimiterOutage[] = [];
  readonly storeOutages: StoreOutage[] = [];
  /** What was seen to be wrong while it was disturbed. */
  readonly findings = new Findings();
  /** How often each process was killed here. */
  readonly kills = new Map<string, number>();
  readonly #print: Print;
  /** What had ended before, while everything was cold, is no effect of what is done here. */
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

  /** Between the engines and Cassandra, in a run that has faults for it. */
  get proxy(): FaultProxy {
    if (this.#proxy === undefined) throw new Error('this run has no fault proxy');
    return this.#proxy;
  }

  /** The names of the engines, limiters, edges or Cassandra nodes that are there now. */
  named(kind: 'engine' | 'limiter' | 'edge' | 'cassandra'): string[] {
    return this.cluster.names.filter((name) => name.startsWith(kind));
  }

  /** What the cluster's plan says of this process. */
  plannedOf(name: string): PlannedProcess {
    const planned = this.cluster.plan.processes.find((process) => process.name === name);
    if (planned === undefined) throw new Error(`there is no ${name}`);
    return planned;
  }

  /** Kills a process at once; its supervisor starts it again. */
  kill(name: string): void {
    this.kills.set(name, (this.kills.get(name) ?? 0) + 1);
    this.cluster.signal(name, 'SIGKILL');
  }

  /** Stops a process where it stands, and lets it go on after that many milliseconds. */
  async pause(name: string, ms: number): Promise<void> {
    this.cluster.signal(name, 'SIGSTOP');
    await sleep(ms);
    this.cluster.signal(name, 'SIGCONT');
  }

  /** Processes that ended without being killed or stopped, and how often. */
  get endedThemselves(): string[] {
    const ended = Object.entries(this.cluster.restarts).map(([name, restarts]) => {
      const before = this.#restartsBefore[name] ?? 0;
      const count = restarts - before - (this.kills.get(name) ?? 0);
      return count > 0 ? `${name} has ended by itself ${count} times: see its log` : '';
    });
    return ended.filter((line) => line !== '');
  }

  /** What is disturbed from now on, for the record. */
  set fault(name: string) {
    this.#fault = name;
  }

  /** Does something to the cluster and records how long it took. */
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
   * Waits until the engines that answer serve every shard, and the limiters too. With `gone`, nodes
   * whose shards others must have by then, records how long that took since the last disturbance began.
   */
  async served(gone: readonly string[] = []): Promise<void> {
    const disturbance = this.disturbances.at(-1);
    const startMs = disturbance?.fromMs ?? performance.now();
    // The engines have that many, and so have the limiters.
    const shards = 2 * this.cluster.plan.shards;
    let sinceMs = performance.now();
    for (let steady = 0; steady < STEADY_LOOKS; ) {
      const nowMs = performance.now();
      if (nowMs - startMs > SERVED_MS_MAX) {
        this.#print('  not every shard is served after 90 s');
        return;
      }
      const processes = this.cluster.plan.processes.filter(({ name }) => !gone.includes(name));
      const isServed = (await shardsServed({ processes })) === shards;
      if (isServed && steady === 0) sinceMs = nowMs;
      steady = isServed ? steady + 1 : 0;
      await sleep(ASK_EVERY_MS);
    }
    if (disturbance !== undefined && gone.length > 0) disturbance.servedAfterMs = sinceMs - startMs;
  }
}
