import { setTimeout as sleep } from 'node:timers/promises';
import type { Caller } from '#test/support/calls/caller';

/** A stream event: a text block that ends with an empty line. */
export type StreamEvent = {
  /** Undefined for a block without an event. */
  readonly event: string | undefined;
  readonly id: number | undefined;
  /** Id of an account's event, which is no number. */
  readonly idText?: string | undefined;
  readonly retryMs: number | undefined;
  /** Parsed data, untyped. */
  readonly data: ReturnType<typeof JSON.parse>;
};

/** Event timeout, in milliseconds. */
const EVENT_MS_MAX = 20_000;

/** Events in a text with complete blocks, without comments. */
export function eventsIn(text: string): StreamEvent[] {
  return text.split('\n\n').flatMap((block) => {
    const fields = new Map(block.split('\n').map((line) => fieldOf(line)));
    const [id, retry, data] = [fields.get('id'), fields.get('retry'), fields.get('data')];
    if (fields.get('event') === undefined && id === undefined && retry === undefined) return [];
    return {
      event: fields.get('event'),
      id: id === undefined ? undefined : Number(id),
      ...(Number.isNaN(Number(id ?? 0)) && { idText: id }),
      retryMs: retry === undefined ? undefined : Number(retry),
      data: data === undefined ? undefined : JSON.parse(data),
    };
  });
}

function fieldOf(line: string): [string, string] {
  const colon = line.indexOf(':');
  return [line.slice(0, colon), line.slice(colon + 1).trim()];
}

/** A client that follows an instance or an account over HTTP. */
export class EventReader implements Disposable {
  readonly status: number;
  readonly headers: Headers;
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #decoder = new TextDecoder();
  readonly #events: StreamEvent[] = [];
  #rest = '';

  private constructor(response: Response) {
    this.status = response.status;
    this.headers = response.headers;
    if (response.body === null) throw new Error('the answer has no body');
    this.#reader = response.body.getReader();
  }

  /** Reads the events in an answer. */
  static of(response: Response): EventReader {
    return new EventReader(response);
  }

  /** Opens `path` with a caller's key and these headers. */
  static async open(
    api: string,
    { key }: Pick<Caller, 'key'>,
    path: string,
    headers: Record<string, string> = {},
  ): Promise<EventReader> {
    const authorization = `Bearer ${key}`;
    return EventReader.of(await fetch(`${api}${path}`, { headers: { authorization, ...headers } }));
  }

  /** Next event; undefined after the stream's end. */
  async next(): Promise<StreamEvent | undefined> {
    while (this.#events.length === 0) {
      const { done, value } = await this.#read();
      if (done || value === undefined) return undefined;
      const text = this.#rest + this.#decoder.decode(value, { stream: true });
      const end = text.lastIndexOf('\n\n');
      this.#rest = text.slice(end + 1);
      if (end >= 0) this.#events.push(...eventsIn(text.slice(0, end)));
    }
    return this.#events.shift();
  }

  /** Next events up to the first event with this name. Throws if the stream ends first. */
  async until(event: string): Promise<StreamEvent[]> {
    const seen: StreamEvent[] = [];
    for (;;) {
      const next = await this.next();
      if (next === undefined) throw new Error(`the stream ended before ${event}`);
      seen.push(next);
      if (next.event === event) return seen;
    }
  }

  /** All remaining events, appended to `seen`. */
  async rest(seen: StreamEvent[] = []): Promise<StreamEvent[]> {
    for (let next = await this.next(); next !== undefined; next = await this.next())
      seen.push(next);
    return seen;
  }

  /** Whether the stream ends within `ms` milliseconds. */
  async endsWithin(ms: number): Promise<boolean> {
    const ended = this.rest().then(() => true);
    return await Promise.race([ended, sleep(ms, false)]);
  }

  [Symbol.dispose](): void {
    this.#reader.cancel().catch(() => undefined);
  }

  async #read(): Promise<{ done: boolean; value?: Uint8Array | undefined }> {
    const late = new AbortController();
    const giveUp = sleep(EVENT_MS_MAX, undefined, { signal: late.signal }).then(() => {
      throw new Error('no event in time');
    });
    try {
      return await Promise.race([this.#reader.read().catch(() => ({ done: true })), giveUp]);
    } finally {
      late.abort();
      giveUp.catch(() => undefined);
    }
  }
}
