import { setTimeout as sleep } from 'node:timers/promises';
import type { LocalServer } from '#deploy/local/local-server';
import { MissingServer } from '#deploy/local/missing-server';
import { endProcess, runningServer, type ServerRecord } from '#deploy/local/server-record';

/** How long after its end a process is started again, in milliseconds. Chosen. */
const RESTART_MS = 2_000;

/** A process that ends so often before it was ever ready will not become it. */
const FAILURES_MAX = 3;

/** What is kept running. */
export type Kept = {
  readonly name: string;
  /** Where it leaves its record. */
  readonly folder: string;
  /** Starts it once; fulfils when it is ready. */
  readonly open: () => Promise<LocalServer>;
  /** Hears how it ended each time that it was not asked to. */
  readonly onEnd: (how: string) => void;
};

/** How often a process that is being forked is looked for, in milliseconds. */
const LOOK_EVERY_MS = 20;

/** One process that is wanted: it is started again 2 s after it ends, until it is stopped. */
export class KeptProcess {
  readonly #kept: Kept;
  #restarts = 0;
  #life: { readonly unwanted: AbortController; readonly ready: Promise<void> } | undefined;
  #over: Promise<void> = Promise.resolve();

  constructor(kept: Kept) {
    this.#kept = kept;
  }

  /** How often it was started again because it had ended. */
  get restarts(): number {
    return this.#restarts;
  }

  /** What runs as this process now, ready or not. */
  get record(): ServerRecord | undefined {
    return runningServer(this.#kept.folder);
  }

  /**
   * Wants it from now on; fulfils when it was ready for the first time. Rejects when it cannot be
   * had, ended three times before, or was stopped.
   */
  start(): Promise<void> {
    if (this.#life !== undefined) return this.#life.ready;
    const unwanted = new AbortController();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    promise.catch(() => undefined);
    this.#life = { unwanted, ready: promise };
    this.#over = this.#keep(unwanted.signal, { resolve, reject }).finally(() => {
      this.#life = undefined;
    });
    return promise;
  }

  /** Does not want it any more: ends it in good order and waits until it is gone. */
  async stop(): Promise<void> {
    this.#life?.unwanted.abort();
    while (this.#life !== undefined) {
      const { record } = this;
      if (record !== undefined) await endProcess(record);
      await Promise.race([this.#over, sleep(LOOK_EVERY_MS)]);
    }
  }

  async #keep(
    unwanted: AbortSignal,
    ready: { resolve: () => void; reject: (error: Error) => void },
  ): Promise<void> {
    const { name, open, onEnd } = this.#kept;
    for (let failures = 0; !unwanted.aborted; this.#restarts += 1) {
      const end = await open().then(
        async (server) => {
          ready.resolve();
          return new Error(`${name} ended with ${await server.ended}`);
        },
        (error: Error) => error,
      );
      if (unwanted.aborted) break;
      failures += 1;
      // Only a first start can fail for good; the cluster waits for a process that was ready once.
      if (failures === FAILURES_MAX || end instanceof MissingServer) ready.reject(end);
      onEnd(end.message);
      await sleep(RESTART_MS, undefined, { signal: unwanted }).catch(() => undefined);
      if (unwanted.aborted) break;
    }
    ready.reject(new Error(`${name} was stopped`));
  }
}
