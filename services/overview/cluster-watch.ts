import { CallRates } from '#overview/call-rates';
import type { ClusterReport } from '#overview/cluster-report';
import { loadReport } from '#overview/load-report';
import { WatchedService, type WatchPorts } from '#overview/watched-service';
import type { Clock } from '#platform/clock';
import type { NodeLoad } from '#wire/admin';

/** What a report counts for, in milliseconds: all who look within it get the same one. */
const FRESH_MS = 1_000;

/** After so long without a question, in milliseconds, nothing is watched any more. */
const UNWATCHED_MS = 10_000;

/** Answers for a cluster, or for a process that is none of one. */
export type ClusterReporter = Disposable & {
  /** What is so now; computed once for all who ask within a second. */
  report(): Promise<ClusterReport>;
};

/** What is read of a cluster, and the release of who reads. */
type ClusterWatchPorts = WatchPorts & { readonly release: string };

/**
 * A cluster as it is watched from one of its processes: only while someone asks, at most one look a
 * second for all of them, and every part of a look with a deadline of its own. Source: decision 261.
 */
export class ClusterWatch implements ClusterReporter {
  readonly #ports: ClusterWatchPorts;
  #services: { readonly engine: WatchedService; readonly limiter: WatchedService } | undefined;
  #sinceMs = 0;
  #latest: { readonly report: Promise<ClusterReport>; readonly begunMs: number } | undefined;
  #isLooking = false;
  #idle: Disposable | undefined;

  constructor(ports: ClusterWatchPorts) {
    this.#ports = ports;
  }

  async report(): Promise<ClusterReport> {
    const { clock } = this.#ports;
    const nowMs = clock.monotonicMs();
    this.#idle?.[Symbol.dispose]();
    this.#idle = clock.after(UNWATCHED_MS, () => this.#rest());
    const latest = this.#latest;
    if (latest !== undefined && (this.#isLooking || nowMs - latest.begunMs < FRESH_MS)) {
      return await latest.report;
    }
    this.#isLooking = true;
    const report = this.#look().finally(() => {
      this.#isLooking = false;
    });
    this.#latest = { report, begunMs: nowMs };
    return await report;
  }

  [Symbol.dispose](): void {
    this.#idle?.[Symbol.dispose]();
    this.#rest();
  }

  async #look(): Promise<ClusterReport> {
    const { clock, bus, release } = this.#ports;
    const { engine, limiter } = this.#watched();
    const [ofEngine, ofLimiter] = await Promise.all([engine.look(), limiter.look()]);
    return {
      kind: 'cluster',
      at: new Date(clock.wallMs()).toISOString(),
      release,
      watched_s: (clock.monotonicMs() - this.#sinceMs) / 1_000,
      is_bus_connected: bus.isConnected,
      engine: ofEngine,
      limiter: ofLimiter,
    };
  }

  #watched() {
    if (this.#services === undefined) {
      this.#sinceMs = this.#ports.clock.monotonicMs();
      const watch = (service: 'engine' | 'limiter') => new WatchedService(service, this.#ports);
      this.#services = { engine: watch('engine'), limiter: watch('limiter') };
    }
    return this.#services;
  }

  #rest(): void {
    this.#services?.engine[Symbol.dispose]();
    this.#services?.limiter[Symbol.dispose]();
    this.#services = undefined;
    this.#latest = undefined;
  }
}

/** What a process on memory holds of each service that it is. */
type OwnLoads = {
  readonly engine: (() => Omit<NodeLoad, 'incarnation'>) | undefined;
  readonly limiter: (() => Omit<NodeLoad, 'incarnation'>) | undefined;
};

/** Answers for a process on memory, which is a node of no cluster. */
export function aloneReporter(clock: Clock, release: string, loads: OwnLoads): ClusterReporter {
  const rates = new CallRates(clock);
  return {
    async report() {
      const [engine, limiter] = [loads.engine?.(), loads.limiter?.()];
      const counted = Object.entries({ engine, limiter }).flatMap(([name, load]) =>
        load === undefined ? [] : [[name, load.calls] as const],
      );
      const perS = rates.look(new Map(counted));
      return {
        kind: 'alone',
        at: new Date(clock.wallMs()).toISOString(),
        release,
        engine: engine === undefined ? null : loadReport(engine, perS.get('engine')),
        limiter: limiter === undefined ? null : loadReport(limiter, perS.get('limiter')),
      };
    },
    [Symbol.dispose]: () => undefined,
  };
}
