import { at } from '#bench/load/process-answer';
import type { CpuProfile } from '#bench/measures/cpu-profile';
import type { Child } from '#bench/processes/child';
import { untilAnswered } from '#bench/processes/readiness';

/** Memory of a Node process: resident bytes, and live bytes of objects and buffers. */
export type MemoryUse = { readonly residentBytes: number; readonly liveBytes: number };

/** Sampling interval in µs: shorter than an event-loop turn, with under 5 % overhead. */
const SAMPLE_MICROS = 500;

/** Inspector client of a Node process started with `--inspect=127.0.0.1:0`. */
export class Inspector {
  readonly #socket: WebSocket;
  #lastId = 0;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
  }

  /** Connects to the inspector address that Node prints at its start. */
  static async connect(child: Child): Promise<Inspector> {
    const url = await untilAnswered(child, async () => {
      return /ws:\/\/127\.0\.0\.1:\d+\/[\w-]+/.exec(child.beginning)?.[0];
    });
    const socket = new WebSocket(url);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    socket.addEventListener('open', () => resolve());
    socket.addEventListener('error', () => reject(new Error(`no inspector at ${url}`)));
    await promise;
    return new Inspector(socket);
  }

  /** Collects all garbage, then reads the memory in use. */
  async memoryAfterCollection(): Promise<MemoryUse> {
    // Twice: the second collection frees objects finalized by the first.
    await this.#call('HeapProfiler.collectGarbage');
    await this.#call('HeapProfiler.collectGarbage');
    return this.memory();
  }

  /** Memory in use, garbage included. */
  async memory(): Promise<MemoryUse> {
    const expression = 'process.memoryUsage()';
    const result = await this.#call('Runtime.evaluate', { expression, returnByValue: true });
    const bytes = (name: string) => Number(at(result, ['result', 'value', name]));
    return { residentBytes: bytes('rss'), liveBytes: bytes('heapUsed') + bytes('external') };
  }

  /** CPU profile of the process while `work` runs, in `.cpuprofile` format. */
  async profile(work: () => Promise<void>): Promise<CpuProfile> {
    await this.#call('Profiler.enable');
    await this.#call('Profiler.setSamplingInterval', { interval: SAMPLE_MICROS });
    await this.#call('Profiler.start');
    await work();
    const result = await this.#call('Profiler.stop');
    return at(result, ['profile']) as CpuProfile;
  }

  [Symbol.dispose](): void {
    this.#socket.close();
  }

  async #call(method: string, params: Record<string, unknown> = {}): Promise<unknown> {
    this.#lastId += 1;
    const id = this.#lastId;
    const { promise, resolve } = Promise.withResolvers<unknown>();
    const listener = (event: MessageEvent): void => {
      const message: unknown = JSON.parse(String(event.data));
      if (at(message, ['id']) !== id) return;
      this.#socket.removeEventListener('message', listener);
      resolve(at(message, ['result']));
    };
    this.#socket.addEventListener('message', listener);
    this.#socket.send(JSON.stringify({ id, method, params }));
    return promise;
  }
}
