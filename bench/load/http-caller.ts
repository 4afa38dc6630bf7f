import { Agent, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';

/** Requests in flight per caller, as in the larger benchmark run. */
const CALLS_IN_FLIGHT = 64;

/** Timeout of a call in ms, longer than the service's deadline (architecture 3.5). */
const CALL_MS_MAX = 15_000;

/**
 * Maximum number of attempts while the limiter is unavailable. A refused call has no effect, so a
 * retry is safe. Retries keep a short stall from aborting a long run.
 */
const ATTEMPTS_MAX = 10;

/** Pause between two attempts, in ms. */
const PAUSE_MS = 1_000;

/** An HTTP call, relative to the caller's base address. */
export type Call = {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly body?: string;
};

/**
 * HTTP client with kept-alive connections, for preparation and checks only, never for measured
 * load.
 */
export class HttpCaller {
  readonly #base: string;
  readonly #key: string;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: CALLS_IN_FLIGHT });

  constructor(base: string, key: string) {
    this.#base = base;
    this.#key = key;
  }

  /**
   * Returns the body of a 2xx answer. Retries `limiter_unavailable`; throws for every other status.
   */
  async send(call: Call): Promise<unknown> {
    for (let attempt = 1; ; attempt += 1) {
      const { status, body } = await this.#answerTo(call);
      if (status >= 200 && status < 300) return JSON.parse(body);
      if (!body.includes('limiter_unavailable') || attempt === ATTEMPTS_MAX) {
        throw new Error(`${call.method} ${call.path} answered ${status}: ${body}`);
      }
      await pause(PAUSE_MS);
    }
  }

  /**
   * Sends `count` calls, several concurrently. `callOf` makes each call from its index. Returns the
   * answers in order.
   */
  async sendAll<Answer>(
    count: number,
    callOf: (index: number) => Call,
    read: (answer: unknown) => Answer,
  ): Promise<Answer[]> {
    const answers: Answer[] = new Array(count);
    let next = 0;
    const sender = async (): Promise<void> => {
      while (next < count) {
        const index = next;
        next += 1;
        answers[index] = read(await this.send(callOf(index)));
      }
    };
    await Promise.all(Array.from({ length: CALLS_IN_FLIGHT }, sender));
    return answers;
  }

  /** Closes the kept connections. */
  [Symbol.dispose](): void {
    this.#agent.destroy();
  }

  #answerTo(call: Call): Promise<{ readonly status: number; readonly body: string }> {
    const { promise, resolve, reject } = Promise.withResolvers<{ status: number; body: string }>();
    const headers = { authorization: `Bearer ${this.#key}`, 'content-type': 'application/json' };
    const options = { method: call.method, agent: this.#agent, timeout: CALL_MS_MAX, headers };
    const sent = request(this.#base + call.path, options, (response) => {
      text(response).then((body) => {
        resolve({ status: response.statusCode ?? 0, body });
      }, reject);
    });
    sent.on('timeout', () => sent.destroy(new Error(`${call.method} ${call.path} timed out`)));
    sent.on('error', reject);
    sent.end(call.body);
    return promise;
  }
}
