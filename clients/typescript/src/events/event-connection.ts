import { onAbort } from '../calls/abort.ts';
import type { Attempt, Fetch, FetchAnswer, FetchBody, Request } from '../calls/attempt.ts';
import { Deadline, TIMED_OUT } from '../calls/deadline.ts';
import { type EventBlock, EventBlocks } from './event-block.ts';

/**
 * Maximum time without data before a connection is replaced, in milliseconds: three keep-alive
 * comments. Source: interface 6.3.
 */
export const SILENCE_MS_MAX = 45_000;

type Reader = ReturnType<FetchBody['getReader']>;

/** An open event stream. */
export class EventConnection {
  readonly #reader: Reader;
  readonly #controller: AbortController;
  readonly #unlink: () => void;
  readonly #decoder = new TextDecoder();
  readonly #blocks = new EventBlocks();
  /** Start of the request, in monotonic milliseconds. */
  readonly beganAtMs: number;

  private constructor(
    reader: Reader,
    controller: AbortController,
    unlink: () => void,
    beganAtMs: number,
  ) {
    this.beganAtMs = beganAtMs;
    // Cancel the reader too: a stream may ignore the signal.
    const end = () => void reader.cancel().catch(() => undefined);
    controller.signal.addEventListener('abort', end, { once: true });
    this.#reader = reader;
    this.#controller = controller;
    this.#unlink = unlink;
  }

  /**
   * Opens a stream within `openMs` milliseconds. Returns the failed attempt if the answer is not a
   * stream. Rejects only with the abort reason.
   */
  static async open(
    fetch: Fetch,
    { url, method, headers }: Request,
    openMs: number,
    signal: AbortSignal | undefined,
  ): Promise<{ connection: EventConnection; response: FetchAnswer } | Attempt> {
    const controller = new AbortController();
    const beganAtMs = performance.now();
    signal?.throwIfAborted();
    const cancel = () => controller.abort(signal?.reason);
    const unlink = signal === undefined ? () => {} : onAbort(signal, cancel);
    try {
      // Enforces the limit even if `fetch` ignores its signal.
      return await new Deadline(openMs, signal).limit(openMs, async (limited) => {
        limited.addEventListener('abort', () => controller.abort(limited.reason), { once: true });
        const init = { method, headers, signal: controller.signal, redirect: 'manual' as const };
        const response = await fetch(url, init);
        if (limited.aborted) await response.body?.cancel();
        if (response.ok && response.body !== null && isStream(response)) {
          const reader = response.body.getReader();
          const connection = new EventConnection(reader, controller, unlink, beganAtMs);
          return { connection, response };
        }
        const text = await response.text();
        unlink();
        return { kind: 'answered', response, text } as const;
      });
    } catch (cause) {
      unlink();
      signal?.throwIfAborted();
      return { kind: 'unanswered', wasSent: true, isLate: cause === TIMED_OUT, cause };
    }
  }

  /**
   * Returns the next blocks, possibly none. Undefined at the end of the stream, after an error, or
   * after `silenceMsMax` milliseconds without data.
   */
  async next(silenceMsMax: number): Promise<EventBlock[] | undefined> {
    const timer = setTimeout(() => this.#controller.abort(TIMED_OUT), silenceMsMax);
    let chunk: { readonly done: boolean; readonly value?: Uint8Array | undefined };
    try {
      chunk = await this.#reader.read();
    } catch {
      return undefined;
    } finally {
      clearTimeout(timer);
    }
    if (chunk.done) return undefined;
    return this.#blocks.take(this.#decoder.decode(chunk.value, { stream: true }));
  }

  /** Ends the connection. */
  close(): void {
    this.#unlink();
    this.#controller.abort();
  }
}

function isStream(response: FetchAnswer): boolean {
  return response.headers.get('content-type')?.startsWith('text/event-stream') ?? false;
}
