import type { ClientOptions } from '../../src/identity-engine.ts';

/** What went over the wire for one call, over all its attempts. */
export type Traffic = {
  /** Monotonic milliseconds at which the first attempt began. */
  readonly startMs: number;
  attempts: number;
  /** Of the newest attempt. */
  key: string | undefined;
  /** Body of the newest answer that was passed on. */
  text: string;
};

/** What is done to requests and answers on their way. */
export type Hardship = {
  /** Share of answers to changes that are lost after the service has given them. */
  readonly lostShare: number;
  /** Whether each attempt gets another idempotency key, as of a client that is broken. */
  readonly hasNewKeys: boolean;
};

/** Stands between a client and the platform's `fetch`, keeps what passes, and loses some of it. */
export class RecordedWire {
  readonly #hardship: Hardship;
  readonly #traffic = new Map<string, Traffic>();

  constructor(hardship: Hardship) {
    this.#hardship = hardship;
  }

  /** Gives out, and forgets, the traffic of the call of this name: its request id, or a mark that it sent. */
  take(name: string): Traffic | undefined {
    const traffic = this.#traffic.get(name);
    this.#traffic.delete(name);
    return traffic;
  }

  /** For `ClientOptions`. */
  readonly fetch: NonNullable<ClientOptions['fetch']> = async (url, init) => {
    const headers = new Headers(init.headers);
    const isKeyed = headers.has('idempotency-key');
    if (isKeyed && this.#hardship.hasNewKeys) headers.set('idempotency-key', crypto.randomUUID());
    const traffic = this.#note(headers, String(init.body ?? ''));
    const response = await fetch(url, { ...init, headers });
    const text = await response.text();
    const isChange = init.method !== 'GET';
    if (isChange && Math.random() < this.#hardship.lostShare) {
      throw new TypeError('fetch failed', { cause: new Error('the answer is lost') });
    }
    if (traffic !== undefined) traffic.text = text;
    return new Response(text === '' ? null : text, response);
  };

  #note(headers: Headers, body: string): Traffic | undefined {
    const mark = /"mark":"([^"]+)"/.exec(body)?.[1];
    const name = headers.get('x-request-id') ?? mark;
    if (name === undefined) return undefined;
    const present = this.#traffic.get(name);
    const traffic = present ?? {
      startMs: performance.now(),
      attempts: 0,
      key: undefined,
      text: '',
    };
    traffic.attempts += 1;
    traffic.key = headers.get('idempotency-key') ?? undefined;
    this.#traffic.set(name, traffic);
    return traffic;
  }
}
