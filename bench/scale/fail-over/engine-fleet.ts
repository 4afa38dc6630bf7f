import { setTimeout as sleep } from 'node:timers/promises';
import { type DurableService, SHARDS } from '#bench/durable/service';
import { ownedShards } from '#bench/measures/gauges';
import type { Child } from '#bench/processes/child';
import { untilReady } from '#bench/processes/readiness';
import { withProgress } from '#bench/progress';

/** An engine process with its address and metrics URL. */
export type Engine = {
  readonly number: number;
  readonly child: Child;
  readonly address: string;
  readonly url: string;
};

/** Maximum wait for balanced shards, in ms: a shard has a 30 s cool-down between two moves. */
const BALANCED_MS_MAX = 120_000;

/** Polling interval, in ms. */
const ASK_EVERY_MS = 250;

/** Engines of a service, which a run stops and restarts. */
export class EngineFleet {
  readonly engines: Engine[];
  readonly #service: DurableService;

  /** All engines must be ready. */
  constructor(service: DurableService) {
    this.#service = service;
    this.engines = service.engines.map((child, number) => this.#engineOf(number, child));
  }

  /** Restarts an ended engine with these Node arguments; resolves when ready. */
  async startAgain(number: number, nodeArgs: readonly string[] = []): Promise<Engine> {
    const child = this.#service.startAgain(number, nodeArgs);
    await untilReady(child, `${this.#service.metricsUrls[number]}/health/ready`);
    const engine = this.#engineOf(number, child);
    this.engines[number] = engine;
    return engine;
  }

  /** Resolves when the shard counts of the engines differ by at most 1. */
  async untilBalanced(print: (line: string) => void): Promise<void> {
    const least = Math.floor(SHARDS / this.engines.length);
    const deadlineMs = performance.now() + BALANCED_MS_MAX;
    const ownedNow = () => Promise.all(this.engines.map(({ url }) => ownedShards([url])));
    let owned = await ownedNow();
    await withProgress(
      () => `shards per engine: ${owned.join(', ')}`,
      print,
      async () => {
        for (; owned.some((count) => count < least); owned = await ownedNow()) {
          if (performance.now() > deadlineMs) {
            throw new Error(`unbalanced shards after ${BALANCED_MS_MAX / 1_000} s`);
          }
          await sleep(ASK_EVERY_MS);
        }
      },
    );
  }

  #engineOf(number: number, child: Child): Engine {
    const address = /engine is ready: grpc ([^\s,]+)/.exec(child.output)?.[1];
    const url = this.#service.metricsUrls[number];
    if (address === undefined || url === undefined)
      throw new Error(`${child.name} printed no address`);
    return { number, child, address, url };
  }
}
