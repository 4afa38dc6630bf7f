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
  /** Called with the reason when the process ends unexpectedly. */
  readonly onEnd: (how: string) => void;
};

/** Interval in ms at which `stop` checks again for the record of a starting process. */
const CHECK_INTERVAL_MS = 20;

/** Keeps a process running: restarts the process 2 s after each end, until `stop`. */
export class KeptProcess {
  readonly #kept: Kept;
  #restarts = 0;
  #running: { readonly stopping: AbortController; readonly ready: Promise<void> } | undefined;
  #over: Promise<void> = Promise.resolve();

  constructor(kept: Kept) {
    this.#kept = kept;
  }

  /** Number of restarts after unexpected ends. */
  get restarts(): number {
    return this.#restarts;
  }

  /** Record of the running process, ready or not; undefined if the process does not run. */
  get record(): ServerRecord | undefined {
    return runningServer(this.#kept.folder);
  }

  /**
   * Starts the process; resolves when the process is ready. Throws if the program is missing, after
   * three failed starts, or after `stop`.
   */
  start(): Promise<void> {
    if (this.#running !== undefined) return this.#running.ready;
    const stopping = new AbortController();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    promise.catch(() => undefined);
    this.#running = { stopping, ready: promise };
    this.#over = this.#keep(stopping.signal, { resolve, reject }).finally(() => {
      this.#running = undefined;
    });
    return promise;
  }

  /** Stops the process cleanly, and waits for its end. */
  async stop(): Promise<void> {
    this.#running?.stopping.abort();
    while (this.#running !== undefined) {
      const { record } = this;
      if (record !== undefined) await endProcess(record);
      await Promise.race([this.#over, sleep(CHECK_INTERVAL_MS)]);
    }
  }

  async #keep(
    stopping: AbortSignal,
    ready: { resolve: () => void; reject: (error: Error) => void },
  ): Promise<void> {
    const { name, open, onEnd } = this.#kept;
    for (let failures = 0; !stopping.aborted; this.#restarts += 1) {
      const end = await open().then(
        async (server) => {
          ready.resolve();
          return new Error(`${name} ended with ${await server.ended}`);
        },
        (error: Error) => error,
      );
      if (stopping.aborted) break;
      failures += 1;
      // After the process was ready, `reject` has no effect. The loop restarts the process in any
      // case.
      if (failures === FAILURES_MAX || end instanceof MissingServer) ready.reject(end);
      onEnd(end.message);
      await sleep(RESTART_MS, undefined, { signal: stopping }).catch(() => undefined);
      if (stopping.aborted) break;
    }
    ready.reject(new Error(`${name} was stopped`));
  }
}
