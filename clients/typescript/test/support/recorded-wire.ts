import type { ClientOptions } from '../../src/identity-engine.ts';

/** Recorded traffic of one call, or of one observation of a buffer, over all attempts. */
export type Traffic = {
  /** Start of the first attempt, in monotonic milliseconds. */
  readonly startMs: number;
  attempts: number;
  /** Idempotency key of the newest attempt. */
  key: string | undefined;
  /** Body of the newest answer that the client received. */
  text: string;
  /** Whether any attempt was a fleet call. */
  isFleet: boolean;
  /** Whether any attempt was a call for one instance. */
  isSingle: boolean;
};

/** Faults injected into requests and answers. */
export type Hardship = {
  /** Share of answers to changes that are lost, from 0 to 1. */
  readonly lostShare: number;
  /** Whether each attempt gets a new idempotency key, as a broken client would send. */
  readonly hasNewKeys: boolean;
};

/** Wraps the platform's `fetch`, records traffic, and loses some answers. */
export class RecordedWire {
  readonly #hardship: Hardship;
  readonly #traffic = new Map<string, Traffic>();

  constructor(hardship: Hardship) {
    this.#hardship = hardship;
  }

  /** Removes and returns the traffic of a call, by request id or by a mark in its body. */
  take(name: string): Traffic | undefined {
    const traffic = this.#traffic.get(name);
    this.#traffic.delete(name);
    return traffic;
  }

  /** `fetch` for `ClientOptions`. */
  readonly fetch: NonNullable<ClientOptions['fetch']> = async (url, init) => {
    const headers = new Headers(init.headers);
    const isKeyed = headers.has('idempotency-key');
    if (isKeyed && this.#hardship.hasNewKeys) headers.set('idempotency-key', crypto.randomUUID());
    const isFleet = new URL(String(url)).pathname.endsWith('/v1/process');
    const noted = this.#note(headers, String(init.body ?? ''), isFleet);
    const response = await fetch(url, { ...init, headers });
    const text = await response.text();
    const isChange = init.method !== 'GET';
    if (isChange && Math.random() < this.#hardship.lostShare) {
      throw new TypeError('fetch failed', { cause: new Error('the answer is lost') });
    }
    for (const traffic of noted) traffic.text = text;
    return new Response(text === '' ? null : text, response);
  };

  #note(headers: Headers, body: string, isFleet: boolean): Traffic[] {
    const requestId = headers.get('x-request-id');
    const marks = [...body.matchAll(/"mark":"([^"]+)"/g)].map(([, mark = '']) => mark);
    return (requestId === null ? marks : [requestId]).map((name) => {
      const present = this.#traffic.get(name);
      const traffic = present ?? {
        startMs: performance.now(),
        attempts: 0,
        key: undefined,
        text: '',
        isFleet: false,
        isSingle: false,
      };
      traffic.attempts += 1;
      traffic.key = headers.get('idempotency-key') ?? undefined;
      if (isFleet) traffic.isFleet = true;
      else traffic.isSingle = true;
      this.#traffic.set(name, traffic);
      return traffic;
    });
  }
}
