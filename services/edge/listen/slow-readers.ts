import type { Server } from 'node:http';
import type { Socket } from 'node:net';
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

/** The least that a connection must take while an answer waits, in bytes a second. */
const TAKEN_PER_SECOND_MIN = 16 * 1_024;

/** Over how long that is measured, in milliseconds: a network that stops for a moment is none. */
const MEASURED_MS = 10_000;

/**
 * How long a large step may last at that rate, in milliseconds: a third of the 4 MiB that Linux
 * lets a connection's send buffer have.
 */
const STEP_MS_MAX = 90_000;

/**
 * How long the first step may be waited for, in milliseconds: the same third at 40 KiB a second. It
 * is less, because what the kernel took before says nothing of the reader.
 */
const FIRST_STEP_MS_MAX = 40_000;

/** Linux takes more when such a part of a connection's send buffer is free. */
const FREED_PART = 1 / 3;

/** How far apart looks are that are kept, in milliseconds: many connections make very many. */
const APART_MS_MIN = 500;

type Look = { readonly atMs: number; readonly taken: number };

/**
 * How fast a connection takes an answer that waits for it. All that is seen is what the kernel
 * takes, and of an even reader it takes nothing for a while and then a step of up to a third of its
 * buffer. So a connection is slow when it has taken too little in 10 s, and the next step is
 * overdue as well: the last one may last for as long as its bytes do at the least rate. The first
 * may take as long as the kernel's buffer allows, which holds no more than it ever took. Source:
 * decision 161.
 */
class ReadingPace {
  /** Of the last ten seconds, and the newest before them. */
  readonly #looks: [Look, ...Look[]];
  #taken: number;
  #takenMs: number;
  /** Until when the next step is not overdue. */
  #dueMs: number;

  /** Begins when an answer waits, on a connection of which `taken` bytes have been taken before. */
  constructor(nowMs: number, taken: number) {
    this.#looks = [{ atMs: nowMs, taken }];
    this.#taken = taken;
    this.#takenMs = nowMs;
    this.#dueMs = nowMs + Math.min(msOf(taken * FREED_PART), FIRST_STEP_MS_MAX);
  }

  /** When something was taken last, in milliseconds; at first when the answer began to wait. */
  get takenMs(): number {
    return this.#takenMs;
  }

  /** Looks again: `taken` bytes of all answers on the connection have been taken by now. */
  look(nowMs: number, taken: number): void {
    const last = this.#looks.at(-1) ?? this.#looks[0];
    if (taken > this.#taken) {
      this.#taken = taken;
      this.#takenMs = nowMs;
      // From the last look on: it may have been taken right after it.
      const stepMs = Math.min(msOf(taken - last.taken), STEP_MS_MAX);
      this.#dueMs = Math.max(this.#dueMs, last.atMs + stepMs);
    }
    if (nowMs - last.atMs < APART_MS_MIN) return;
    this.#looks.push({ atMs: nowMs, taken });
    // The newest that is old enough is compared with, and those before it are forgotten.
    while (nowMs - (this.#looks[1]?.atMs ?? nowMs) >= MEASURED_MS) this.#looks.shift();
  }

  /** Whether too little has been taken, as of the last look. */
  isSlow(nowMs: number): boolean {
    const [first] = this.#looks;
    const elapsedMs = nowMs - first.atMs;
    if (elapsedMs < MEASURED_MS || nowMs < this.#dueMs) return false;
    return msOf(this.#taken - first.taken) < elapsedMs;
  }
}

/** For how long bytes last at the least rate, in milliseconds. */
function msOf(bytes: number): number {
  return (bytes * 1_000) / TAKEN_PER_SECOND_MIN;
}
