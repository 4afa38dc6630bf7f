import { setTimeout as sleep } from 'node:timers/promises';
import type { LocalCluster } from '#deploy/local/local-cluster';
import type { Tell } from '#deploy/local/progress';
import type { FaultProxy } from '#test/chaos/fault-proxy';
import type { Disturbance } from '#test/chaos/timeline';

/** How often the engines are asked how many shards they serve, in milliseconds. */
const ASK_EVERY_MS = 50;

/** An engine that does not say so within this time does not serve, in milliseconds. */
const ANSWER_MS_MAX = 400;

/** How long shards may stay unserved before the run goes on without, in milliseconds. */
const SERVED_MS_MAX = 90_000;

/** How long a state must last to count: what a dead engine owned is not served by its last number. */
const STEADY_LOOKS = 2;

/** The cluster that is disturbed, and the record of what was done to it and when. */
export class Scene {
  readonly cluster: LocalCluster;
  readonly #proxy: FaultProxy | undefined;
  readonly disturbances: Disturbance[] = [];
  /** How often each process was killed here. */
  readonly kills = new Map<string, number>();
  readonly #tell: Tell;
  #fault = '';

  constructor(cluster: LocalCluster, proxy: FaultProxy | undefined, tell: Tell) {
    this.cluster = cluster;
    this.#proxy = proxy;
    this.#tell = tell;
  }

  /** Between the engines and Cassandra, in a run that has faults for it. */
  get proxy(): FaultProxy {
    if (this.#proxy === undefined) throw new Error('this run has no fault proxy');
    return this.#proxy;
  }

  /** The names of the engines, or of the edges, that are there now. */
  named(kind: 'engine' | 'edge'): string[] {
    return this.cluster.names.filter((name) => name.startsWith(kind));
  }

  /** Kills a process at once; its supervisor starts it again. */
  kill(name: string): void {
    this.kills.set(name, (this.kills.get(name) ?? 0) + 1);
    this.cluster.signal(name, 'SIGKILL');
  }

  /** Processes that ended though nobody had killed or stopped them, and how often. */
  get endedThemselves(): string[] {
    const ended = Object.entries(this.cluster.restarts).map(([name, restarts]) => {
      const count = restarts - (this.kills.get(name) ?? 0);
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
    this.#tell(`  ${text}`);
    try {
      return await action();
    } finally {
      disturbance.toMs = performance.now();
    }
  }

  /**
   * Waits until the engines that answer serve every shard. With `gone`, engines whose shards others
   * must have by then, records how long that took since the last disturbance began.
   */
  async served(gone: readonly string[] = []): Promise<void> {
    const disturbance = this.disturbances.at(-1);
    const startMs = disturbance?.fromMs ?? performance.now();
    const { shards } = this.cluster.plan;
    let sinceMs = performance.now();
    for (let steady = 0; steady < STEADY_LOOKS; ) {
      const nowMs = performance.now();
      if (nowMs - startMs > SERVED_MS_MAX) {
        this.#tell('  not every shard is served after 90 s');
        return;
      }
      const isServed = (await this.#shardsServed(gone)) === shards;
      if (isServed && steady === 0) sinceMs = nowMs;
      steady = isServed ? steady + 1 : 0;
      await sleep(ASK_EVERY_MS);
    }
    if (disturbance !== undefined && gone.length > 0) disturbance.servedAfterMs = sinceMs - startMs;
  }

  async #shardsServed(gone: readonly string[]): Promise<number> {
    const { processes } = this.cluster.plan;
    const engines = processes.filter(({ kind, name }) => kind === 'engine' && !gone.includes(name));
    const counts = await Promise.all(engines.map(({ operatorsPort }) => shardsOf(operatorsPort)));
    return counts.reduce((sum, count) => sum + count, 0);
  }
}

/** The shards that an engine serves by its own count; 0 when it does not answer. */
async function shardsOf(port: number | undefined): Promise<number> {
  try {
    const signal = AbortSignal.timeout(ANSWER_MS_MAX);
    const response = await fetch(`http://127.0.0.1:${port}/metrics`, { signal });
    const text = await response.text();
    return Number(/^shards_owned\{[^}]*\} (\d+)$/m.exec(text)?.[1] ?? 0);
  } catch {
    return 0;
  }
}
