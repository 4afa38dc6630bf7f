import { Agent, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

/** Instances used in turn, enough to keep the minimum interval between cycles. */
const INSTANCES = 60;

/** Timeout of an answer, in milliseconds. */
const ANSWER_MS_MAX = 15_000;

/** Cluster address, and an API key of an account with very high limits. */
export type Target = { readonly address: string; readonly key: string };

/** Status of an answer (0 without an answer), and `data` in its body. */
type Called = { readonly status: number; readonly data: { readonly id?: string } | undefined };

/** Open-model load with a steady rate of typical calls. */
export class LightLoad implements AsyncDisposable {
  readonly #target: Target;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 64 });
  readonly #stopping = new AbortController();
  readonly #statuses = new Map<number, number>();
  #ids: string[] = [];
  #running: Promise<void> = Promise.resolve();

  constructor(target: Target) {
    this.#target = target;
  }

  /** Creates instances, then starts `perSecond` calls per second. */
  async begin(perSecond: number): Promise<void> {
    while (this.#ids.length < INSTANCES) {
      const { data } = await this.call('POST', '/instances', { name: `calm${this.#ids.length}` });
      if (data?.id !== undefined) this.#ids.push(data.id);
    }
    this.#running = this.#run(1_000 / perSecond);
  }

  /** Calls by status. */
  get statuses(): Readonly<Record<string, number>> {
    return Object.fromEntries(this.#statuses);
  }

  /** Makes a call. Never rejects. */
  call(method: string, path: string, body?: object, headers = {}): Promise<Called> {
    const { promise, resolve } = Promise.withResolvers<Called>();
    const text = body === undefined ? undefined : JSON.stringify(body);
    const { address, key } = this.#target;
    const sent = request(`${address}/v1${path}`, {
      method,
      agent: this.#agent,
      headers: {
        authorization: `Bearer ${key}`,
        ...(text === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      signal: AbortSignal.timeout(ANSWER_MS_MAX),
    });
    sent.on('error', () => resolve(this.#counted({ status: 0, data: undefined })));
    sent.on('response', (answer) => {
      const parts: Buffer[] = [];
      answer.on('data', (part: Buffer) => parts.push(part));
      answer.on('error', () => resolve(this.#counted({ status: 0, data: undefined })));
      answer.on('end', () => {
        const status = answer.statusCode ?? 0;
        resolve(this.#counted({ status, data: dataIn(Buffer.concat(parts).toString()) }));
      });
    });
    sent.end(text);
    return promise;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping.abort();
    await this.#running;
    this.#agent.destroy();
  }

  async #run(everyMs: number): Promise<void> {
    const startedMs = performance.now();
    for (let number = 0; !this.#stopping.signal.aborted; number += 1) {
      void this.#one(number);
      const dueMs = startedMs + (number + 1) * everyMs;
      await sleep(Math.max(0, dueMs - performance.now()));
    }
  }

  /** Makes one call of a typical mix, mostly observations. */
  #one(number: number): Promise<Called> {
    const id = this.#ids[number % INSTANCES] ?? '';
    switch (number % 20) {
      case 3:
        return this.call('GET', `/instances/${id}/snapshot`);
      case 7:
        return this.call('GET', `/instances/${id}/contract`);
      case 11:
        return this.call('GET', '/instances?limit=20');
      case 15:
        return this.call('GET', `/instances/${id}/history?limit=10`);
      default: {
        const observation = { mode_target: 'ORDER', signal_strength: (number % 10) / 10 };
        return this.call('POST', `/instances/${id}/process`, observation);
      }
    }
  }

  #counted(called: Called): Called {
    const { status } = called;
    this.#statuses.set(status, (this.#statuses.get(status) ?? 0) + 1);
    return called;
  }
}

function dataIn(text: string): Called['data'] {
  try {
    return JSON.parse(text).data;
  } catch {
    return undefined;
  }
}
