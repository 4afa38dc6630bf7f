import { setTimeout as sleep } from 'node:timers/promises';
import { MissingServer } from '#deploy/local/install/missing-server';
import type { LocalServer } from '#deploy/local/servers/local-server';
import { endProcess, runningServer, type ServerRecord } from '#deploy/local/servers/server-record';

/** Delay before a restart, in milliseconds. */
const RESTART_MS = 2_000;

/** Maximum number of failed starts before `start` rejects. */
const FAILURES_MAX = 3;

/** A process to keep running. */
export type Kept = {
  readonly name: string;
  /** Folder for the record of the process. */
  readonly folder: string;
  /** Starts the process once; resolves when it is ready. */
  readonly open: () => Promise<LocalServer>;
  /** Called with the reason each time the process ends unexpectedly. */
  readonly onEnd: (how: string) => void;
};

/** Interval at which `stop` looks for a process that is being started, in milliseconds. */
const LOOK_EVERY_MS = 20;

/** A process that is restarted 2 s after it ends, until it is stopped. */
export class KeptProcess {
  readonly #kept: Kept;
  #restarts = 0;
  #life: { readonly unwanted: AbortController; readonly ready: Promise<void> } | undefined;
  #over: Promise<void> = Promise.resolve();

  constructor(kept: Kept) {
    this.#kept = kept;
  }

  /** Number of restarts after unexpected ends. */
  get restarts(): number {
    return this.#restarts;
  }

  /** Record of the running process, ready or not; undefined if it does not run. */
  get record(): ServerRecord | undefined {
    return runningServer(this.#kept.folder);
  }

  /**
   * Starts the process; resolves when it is ready for the first time. Rejects if the program is
   * missing, after three failed starts, or after `stop`.
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

  /** Stops the process in order, and waits for its end. */
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
      // Only a first start can fail for good; a process that was ready is always restarted.
      if (failures === FAILURES_MAX || end instanceof MissingServer) ready.reject(end);
      onEnd(end.message);
      await sleep(RESTART_MS, undefined, { signal: unwanted }).catch(() => undefined);
      if (unwanted.aborted) break;
    }
    ready.reject(new Error(`${name} was stopped`));
  }
}
