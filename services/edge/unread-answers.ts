import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { ReadingPace } from '#edge/reading-pace';
import type { Clock } from '#platform/clock';

/** How often the connections are looked at, in milliseconds. */
const SWEEP_MS = 1_000;

/** Bytes of answers that no client has taken yet, of all connections together. */
const UNREAD_BYTES_MAX = 256 * 1_024 * 1_024;

/** Answers up to this size, in bytes, wait for the sweep to be noticed: a connection has only one. */
const NOTICED_BYTES_MIN = 16 * 1_024;

/** Why a connection was ended. */
export type EndCause = 'slow' | 'too_much';

/** What is looked at of a connection. */
export type Reader = Pick<Socket, 'writableLength' | 'bytesWritten' | 'destroyed'> & {
  resetAndDestroy(): unknown;
  /** Node's own: of what it has handed over, `writeQueueSize` bytes are not with the kernel yet. */
  readonly _handle?: { readonly writeQueueSize?: number } | null;
};

/** A connection, the bytes that it holds, and when it took the last of what it has taken. */
type Holder = { readonly reader: Reader; readonly bytes: number; readonly takenMs: number };

/**
 * Bounds what answers hold that their callers do not read. Once a second all connections are looked
 * at: one whose pace is too slow while an answer waits is ended (`ReadingPace`), and if all of them
 * together hold too much, those that took nothing for longest, of equals those that hold the most.
 * Only an answer of some size is noticed when it is sent, so that many at once cannot grow beyond
 * that between two looks. Source: decision 161.
 */
export class UnreadAnswers {
  readonly #clock: Clock;
  readonly #onEnd: (cause: EndCause) => void;
  readonly #open = new Set<Reader>();
  /** Of those for which an answer waits. */
  readonly #paces = new Map<Reader, ReadingPace>();
  /** At the last look, and all that has been noticed since. */
  #bytes = 0;

  constructor(clock: Clock, onEnd: (cause: EndCause) => void) {
    this.#clock = clock;
    this.#onEnd = onEnd;
  }

  /** Bytes that waited at the last look, and what has been noticed since. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Looks after the connections of a server until it closes. */
  watch(server: Server): void {
    server.on('connection', (socket: Socket) => {
      this.add(socket);
      socket.once('close', () => this.remove(socket));
    });
    // Node itself ends a connection on which nothing moves only where there is no such listener.
    server.on('timeout', (socket: Socket) => {
      // An even reader's kernel may take nothing for longer: while an answer waits, the sweep
      // judges.
      if (socket.writableLength > 0) socket.setTimeout(server.timeout);
      else socket.destroy();
    });
    const timer = setInterval(() => this.sweep(), SWEEP_MS).unref();
    server.once('close', () => clearInterval(timer));
  }

  /** Looks after a connection from now on. */
  add(reader: Reader): void {
    this.#open.add(reader);
  }

  /** Forgets one that has closed. */
  remove(reader: Reader): void {
    this.#open.delete(reader);
    this.#paces.delete(reader);
  }

  /** Notices an answer of `bytes` that has just been handed to Node. */
  note(reader: Reader, bytes: number): void {
    if (bytes <= NOTICED_BYTES_MIN) return;
    const { writableLength } = reader;
    if (writableLength === 0) return;
    this.#bytes += writableLength;
    if (this.#bytes > UNREAD_BYTES_MAX) this.#bound(this.#clock.monotonicMs());
  }

  /** Looks at every connection. */
  sweep(): void {
    const nowMs = this.#clock.monotonicMs();
    for (const reader of this.#open) {
      if (reader.writableLength === 0) this.#paces.delete(reader);
      else if (this.#look(reader, nowMs).isSlow(nowMs)) this.#end(reader, 'slow');
    }
    this.#bound(nowMs);
  }

  /** The pace up to now of a connection for which an answer waits. */
  #look(reader: Reader, nowMs: number): ReadingPace {
    let pace = this.#paces.get(reader);
    if (pace === undefined) {
      pace = new ReadingPace(nowMs, takenFrom(reader));
      this.#paces.set(reader, pace);
    } else pace.look(nowMs, takenFrom(reader));
    return pace;
  }

  /** Counts again, and ends connections while they hold too much. */
  #bound(nowMs: number): void {
    const waiting = [...this.#open].filter(({ writableLength }) => writableLength > 0);
    this.#bytes = waiting.reduce((sum, { writableLength }) => sum + writableLength, 0);
    if (this.#bytes <= UNREAD_BYTES_MAX) return;
    const holders = waiting.map((reader): Holder => {
      const { takenMs } = this.#look(reader, nowMs);
      return { reader, bytes: reader.writableLength, takenMs };
    });
    for (const { reader, bytes } of holders.sort(byUse)) {
      if (this.#bytes <= UNREAD_BYTES_MAX) return;
      this.#bytes -= bytes;
      this.#end(reader, 'too_much');
    }
  }

  #end(reader: Reader, cause: EndCause): void {
    this.remove(reader);
    if (reader.destroyed) return;
    // Reset: the kernel would keep what it has of the answer for minutes.
    reader.resetAndDestroy();
    this.#onEnd(cause);
  }
}

/** First those that took nothing for longest: one that holds much may read well. */
function byUse(a: Holder, b: Holder): number {
  return a.takenMs - b.takenMs || b.bytes - a.bytes;
}

/** Bytes of all answers so far that the kernel has taken. */
function takenFrom({ bytesWritten, _handle }: Reader): number {
  return bytesWritten - (_handle?.writeQueueSize ?? 0);
}
