import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Clock } from '#platform/clock';

/** The least that a connection must take while an answer waits, in bytes a second. */
const TAKEN_PER_SECOND_MIN = 16 * 1_024;

/** Over how long that is measured, in milliseconds: a network that stands still for a moment is none. */
const MEASURED_MS = 10_000;

/** How often the connections are looked at, in milliseconds. */
const SWEEP_MS = 1_000;

/** Bytes of answers that nobody has taken yet, of all connections together. */
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

type Look = { readonly atMs: number; readonly taken: number };

/**
 * Bounds what answers hold that their callers do not read. Once a second all connections are looked
 * at: one that took less than 16 KiB a second for 10 s while an answer waited is ended, and if all of
 * them together hold too much, those that hold the most. Only an answer of some size is noticed when
 * it is sent, so that many at once cannot grow beyond that between two looks. Source: decision 161.
 */
export class UnreadAnswers {
  readonly #clock: Clock;
  readonly #onEnd: (cause: EndCause) => void;
  readonly #open = new Set<Reader>();
  readonly #looks = new Map<Reader, Look[]>();
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
    this.#looks.delete(reader);
  }

  /** Notices an answer of `bytes` that has just been handed to Node. */
  note(reader: Reader, bytes: number): void {
    if (bytes <= NOTICED_BYTES_MIN) return;
    const { writableLength } = reader;
    if (writableLength === 0) return;
    this.#bytes += writableLength;
    if (this.#bytes > UNREAD_BYTES_MAX) this.#bound();
  }

  /** Looks at every connection. */
  sweep(): void {
    const nowMs = this.#clock.monotonicMs();
    for (const reader of this.#open) {
      if (reader.writableLength === 0) this.#looks.delete(reader);
      else if (this.#isSlow(reader, nowMs)) this.#end(reader, 'slow');
    }
    this.#bound();
  }

  #isSlow(reader: Reader, nowMs: number): boolean {
    const look = { atMs: nowMs, taken: takenFrom(reader) };
    const looks = this.#looks.get(reader);
    if (looks === undefined) {
      this.#looks.set(reader, [look]);
      return false;
    }
    looks.push(look);
    // The newest that is old enough is compared with, and those before it are forgotten.
    while (nowMs - (looks[1]?.atMs ?? nowMs) >= MEASURED_MS) looks.shift();
    const [first = look] = looks;
    const elapsedMs = nowMs - first.atMs;
    if (elapsedMs < MEASURED_MS) return false;
    return (look.taken - first.taken) * 1_000 < elapsedMs * TAKEN_PER_SECOND_MIN;
  }

  /** Counts anew, and ends those that hold the most while it is too much. */
  #bound(): void {
    const waiting = [...this.#open].filter(({ writableLength }) => writableLength > 0);
    this.#bytes = waiting.reduce((sum, { writableLength }) => sum + writableLength, 0);
    if (this.#bytes <= UNREAD_BYTES_MAX) return;
    for (const reader of waiting.sort((a, b) => b.writableLength - a.writableLength)) {
      if (this.#bytes <= UNREAD_BYTES_MAX) return;
      this.#bytes -= reader.writableLength;
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

/** Bytes of all answers so far that the kernel has taken. */
function takenFrom({ bytesWritten, _handle }: Reader): number {
  return bytesWritten - (_handle?.writeQueueSize ?? 0);
}
