import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Clock } from '#stdlib/clock';
import { hasBody } from '#stdlib/has-body';

/** Interval between two sweeps, in milliseconds. */
const SWEEP_MS = 1_000;

/** Maximum unread answer bytes, over all connections. */
const UNREAD_BYTES_MAX = 256 * 1_024 * 1_024;

/**
 * Answers above this size are counted when they are sent, in bytes. Smaller answers wait for the
 * next sweep: a connection has at most one unread answer, so their total stays small.
 */
const NOTICED_BYTES_MIN = 16 * 1_024;

/** Why the edge closed a connection: slow reading, or too many unread bytes on all connections. */
export type EndCause = 'slow' | 'too_much';

/** Socket members that `UnreadAnswers` uses. */
export type Reader = Pick<Socket, 'writableLength' | 'bytesWritten' | 'destroyed'> & {
  resetAndDestroy(): unknown;
  /** Node's handle. `writeQueueSize` counts written bytes that the kernel has not taken yet. */
  readonly _handle?: { readonly writeQueueSize?: number } | null;
};

/** A connection, its unread bytes, and the time when the kernel last took bytes from it. */
type Holder = { readonly reader: Reader; readonly bytes: number; readonly takenMs: number };

/**
 * Bounds the memory for answers that clients do not read (back-pressure).
 *
 * A sweep checks all connections once a second. The sweep closes connections that read too slowly
 * while an answer waits (`ReadingPace`). If all unread answers together exceed `UNREAD_BYTES_MAX`,
 * the sweep closes connections until the rest fits: the longest idle first, on ties the largest.
 *
 * Large answers are counted when sent, so the total cannot exceed the limit between two sweeps.
 * Source: decision 161.
 */
export class UnreadAnswers {
  readonly #clock: Clock;
  readonly #onEnd: (cause: EndCause) => void;
  readonly #open = new Set<Reader>();
  /** Paces, by connection on which an answer waits. */
  readonly #paces = new Map<Reader, ReadingPace>();
  /** Unread bytes at the last check, plus the answers noted since. */
  #bytes = 0;

  constructor(clock: Clock, onEnd: (cause: EndCause) => void) {
    this.#clock = clock;
    this.#onEnd = onEnd;
  }

  /** Unread bytes at the last check, plus the answers noted since. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Tracks all connections to a server until the server closes. */
  watch(server: Server): void {
    server.on('connection', (socket: Socket) => {
      this.add(socket);
      socket.once('close', () => this.remove(socket));
    });
    // With this listener, Node no longer closes idle connections itself.
    server.on('timeout', (socket: Socket) => {
      // While an answer waits, only the sweep decides: even for a steady reader, the kernel may
      // take no bytes for longer than the timeout.
      if (socket.writableLength > 0) socket.setTimeout(server.timeout);
      else socket.destroy();
    });
    const timer = setInterval(() => this.sweep(), SWEEP_MS).unref();
    server.once('close', () => clearInterval(timer));
  }

  /** Starts to track a connection. */
  add(reader: Reader): void {
    this.#open.add(reader);
  }

  /** Stops tracking a connection. */
  remove(reader: Reader): void {
    this.#open.delete(reader);
    this.#paces.delete(reader);
  }

  /** Counts an answer with `bytes` bytes that was just written to the connection. */
  note(reader: Reader, bytes: number): void {
    if (bytes <= NOTICED_BYTES_MIN) return;
    const { writableLength } = reader;
    if (writableLength === 0) return;
    this.#bytes += writableLength;
    if (this.#bytes > UNREAD_BYTES_MAX) this.#bound(this.#clock.monotonicMs());
  }

  /** Checks every connection: closes slow connections, then enforces the total limit. */
  sweep(): void {
    const nowMs = this.#clock.monotonicMs();
    for (const reader of this.#open) {
      if (reader.writableLength === 0) this.#paces.delete(reader);
      else if (this.#look(reader, nowMs).isSlow(nowMs)) this.#end(reader, 'slow');
    }
    this.#bound(nowMs);
  }

  /** Updates and returns a connection's pace while an answer waits. */
  #look(reader: Reader, nowMs: number): ReadingPace {
    let pace = this.#paces.get(reader);
    if (pace === undefined) {
      pace = new ReadingPace(nowMs, takenFrom(reader));
      this.#paces.set(reader, pace);
    } else pace.look(nowMs, takenFrom(reader));
    return pace;
  }

  /** Recounts the unread bytes, and closes connections until they fit `UNREAD_BYTES_MAX`. */
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
    // Reset the connection. After a plain close, the kernel would keep the unread bytes for
    // minutes.
    reader.resetAndDestroy();
    this.#onEnd(cause);
  }
}

/**
 * Sorts the longest idle connection first, because a connection with many unread bytes may read
 * well.
 */
function byUse(a: Holder, b: Holder): number {
  return a.takenMs - b.takenMs || b.bytes - a.bytes;
}

/** Answer bytes that the kernel has taken from the connection. */
function takenFrom({ bytesWritten, _handle }: Reader): number {
  return bytesWritten - (_handle?.writeQueueSize ?? 0);
}

/** Minimum read rate while an answer waits, in bytes per second. */
const TAKEN_PER_SECOND_MIN = 16 * 1_024;

/** Measuring window for the read rate, in milliseconds. Tolerates short network outages. */
const MEASURED_MS = 10_000;

/**
 * Maximum time that one step can grant, in milliseconds. A third of a 4 MiB Linux send buffer lasts
 * about this long at the minimum rate.
 */
const STEP_MS_MAX = 90_000;

/**
 * Maximum time until the first step, in milliseconds. Shorter than `STEP_MS_MAX`, because bytes
 * that the kernel took earlier prove nothing about the reader.
 */
const FIRST_STEP_MS_MAX = 40_000;

/** Part of the send buffer that must be free before Linux takes more bytes. */
const FREED_PART = 1 / 3;

/**
 * Minimum interval between two kept samples, in milliseconds. More frequent checks add no sample.
 */
const APART_MS_MIN = 500;

type Look = { readonly atMs: number; readonly taken: number };

/**
 * Pace at which the kernel takes a connection's waiting answer.
 *
 * The kernel takes nothing for a while and then a step of up to a third of its buffer, even for a
 * steady reader. Therefore a connection is slow only if the kernel took too few bytes in the last
 * 10 s and the next step is overdue.
 *
 * Each step grants the time that its bytes last at the minimum rate. Before the first step, a third
 * of the kernel's buffer must be read. That buffer holds at most the bytes taken before. Source:
 * decision 161.
 */
class ReadingPace {
  /** Samples of the last ten seconds, and the newest sample before them. */
  readonly #looks: [Look, ...Look[]];
  #taken: number;
  #takenMs: number;
  /** Time at which the next step becomes overdue. */
  #dueMs: number;

  /** Starts when an answer waits. `taken` counts the bytes that the kernel took before. */
  constructor(nowMs: number, taken: number) {
    this.#looks = [{ atMs: nowMs, taken }];
    this.#taken = taken;
    this.#takenMs = nowMs;
    this.#dueMs = nowMs + Math.min(msOf(taken * FREED_PART), FIRST_STEP_MS_MAX);
  }

  /** Time when the kernel last took bytes, in milliseconds; initially the start of the wait. */
  get takenMs(): number {
    return this.#takenMs;
  }

  /** Adds a sample. `taken` counts all bytes that the kernel has taken from this connection. */
  look(nowMs: number, taken: number): void {
    const last = this.#looks.at(-1) ?? this.#looks[0];
    if (taken > this.#taken) {
      this.#taken = taken;
      this.#takenMs = nowMs;
      // Count from the last sample, because the bytes may have been taken right after that sample.
      const stepMs = Math.min(msOf(taken - last.taken), STEP_MS_MAX);
      this.#dueMs = Math.max(this.#dueMs, last.atMs + stepMs);
    }
    if (nowMs - last.atMs < APART_MS_MIN) return;
    this.#looks.push({ atMs: nowMs, taken });
    // Keep the newest sample that is old enough for the comparison, and drop older samples.
    while (nowMs - (this.#looks[1]?.atMs ?? nowMs) >= MEASURED_MS) this.#looks.shift();
  }

  /** Whether the connection is too slow at the last sample. */
  isSlow(nowMs: number): boolean {
    const [first] = this.#looks;
    const elapsedMs = nowMs - first.atMs;
    if (elapsedMs < MEASURED_MS || nowMs < this.#dueMs) return false;
    return msOf(this.#taken - first.taken) < elapsedMs;
  }
}

/** Time that `bytes` last at the minimum rate, in milliseconds. */
function msOf(bytes: number): number {
  return (bytes * 1_000) / TAKEN_PER_SECOND_MIN;
}

/**
 * Maximum waiting requests per connection. A full connection is paused, because a few kilobytes can
 * carry this many requests.
 */
const WAITING_PER_CONNECTION_MAX = 64;

/**
 * Maximum number of waiting requests in total. If more wait, the edge closes the connection with
 * the most waiting requests.
 */
const WAITING_MAX = 16_384;

/**
 * Maximum number of connections with a waiting body. If there are more, the edge closes the
 * connection that has waited longest.
 *
 * Such a connection is paused and holds at most one read, 64 KiB: 64 MiB in total.
 */
const HOLDING_MAX = 1_024;

/** Requests of one connection that wait for their turn, and the newest answers. */
type Pipeline = {
  readonly socket: Duplex;
  /** Answer to the newest request. All other answers are sent before it. */
  last: ServerResponse;
  /** Answer directly before `last`. */
  before: ServerResponse | undefined;
  requests: number;
  /** Number of requests that wait for earlier answers. */
  waiting: number;
  /** Number of waiting requests with a body. */
  bodies: number;
  isWatched: boolean;
};

/**
 * Serves each connection's requests in order (HTTP pipelining).
 *
 * A request waits, unread, until all earlier answers have been sent. So each connection has at most
 * one unread answer, and its observations are applied in order (decision 161).
 */
export class Pipelines {
  readonly #pipelines = new WeakMap<Duplex, Pipeline>();
  /** Pipelines with waiting requests. */
  readonly #busy = new Set<Pipeline>();
  /** Pipelines with waiting requests that have bodies, oldest first. */
  readonly #holding = new Set<Pipeline>();
  #waiting = 0;

  /** Number of requests that wait for earlier answers. */
  get waiting(): number {
    return this.#waiting;
  }

  /** Number of connections on which requests with bodies wait. */
  get holding(): number {
    return this.#holding.size;
  }

  /**
   * Registers a request before any other work. Returns how many requests the connection has sent.
   */
  note({ socket }: IncomingMessage, response: ServerResponse): number {
    const pipeline = this.#pipelines.get(socket);
    if (pipeline === undefined) {
      const fresh = { socket, last: response, before: undefined, requests: 1 };
      this.#pipelines.set(socket, { ...fresh, waiting: 0, bodies: 0, isWatched: false });
      return 1;
    }
    pipeline.before = pipeline.last;
    pipeline.last = response;
    pipeline.requests += 1;
    return pipeline.requests;
  }

  /** Answer to a connection's newest request; undefined before the first request. */
  lastOf(socket: Duplex): ServerResponse | undefined {
    return this.#pipelines.get(socket)?.last;
  }

  /**
   * Calls `serve` when all earlier answers on the connection have been sent, or immediately if
   * there are none. Never calls `serve` if the connection closes first.
   *
   * Must be called as soon as the request arrives.
   */
  inTurn(request: IncomingMessage, response: ServerResponse, serve: () => void): void {
    // Node assigns the socket only to the answer that may be written now.
    const pipeline = response.socket === null ? this.#pipelines.get(request.socket) : undefined;
    if (pipeline?.before === undefined) {
      serve();
      return;
    }
    const bodies = hasBody(request) ? 1 : 0;
    pipeline.before.once('finish', () => {
      this.#leave(pipeline, bodies);
      if (response.socket !== null) serve();
    });
    this.#enter(pipeline, bodies);
    if (bodies > 0) keepAsOne(request, response);
  }

  #enter(pipeline: Pipeline, bodies: number): void {
    pipeline.waiting += 1;
    pipeline.bodies += bodies;
    this.#waiting += 1;
    this.#busy.add(pipeline);
    if (pipeline.bodies > 0) this.#holding.add(pipeline);
    if (!pipeline.isWatched) this.#watch(pipeline);
    if (isFull(pipeline)) pipeline.socket.pause();
    if (this.#waiting > WAITING_MAX) this.#endBusiest();
    const [oldest] = this.#holding;
    if (this.#holding.size > HOLDING_MAX && oldest !== undefined) this.#end(oldest);
  }

  #leave(pipeline: Pipeline, bodies: number): void {
    // The counter is zero after the connection has closed.
    if (pipeline.waiting === 0) return;
    pipeline.waiting -= 1;
    pipeline.bodies -= bodies;
    this.#waiting -= 1;
    if (pipeline.waiting === 0) this.#busy.delete(pipeline);
    if (pipeline.bodies === 0) this.#holding.delete(pipeline);
    const isHalfEmpty = pipeline.waiting === WAITING_PER_CONNECTION_MAX / 2;
    if ((isHalfEmpty || bodies > 0) && !isFull(pipeline)) pipeline.socket.resume();
  }

  #watch(pipeline: Pipeline): void {
    pipeline.isWatched = true;
    pipeline.socket.once('close', () => this.#forget(pipeline));
    // Node resumes reading after each message, and when a body is read or discarded.
    pipeline.socket.on('resume', () => {
      if (!isFull(pipeline)) return;
      // Node ignores a second pause between the call of `resume` and this event, so emit `pause`
      // directly.
      if (pipeline.socket.isPaused()) pipeline.socket.emit('pause');
      else pipeline.socket.pause();
    });
  }

  #endBusiest(): void {
    let busiest: Pipeline | undefined;
    for (const pipeline of this.#busy) {
      if (pipeline.waiting > (busiest?.waiting ?? 0)) busiest = pipeline;
    }
    if (busiest !== undefined) this.#end(busiest);
  }

  #end(pipeline: Pipeline): void {
    this.#forget(pipeline);
    pipeline.socket.destroy();
  }

  #forget(pipeline: Pipeline): void {
    this.#waiting -= pipeline.waiting;
    pipeline.waiting = 0;
    pipeline.bodies = 0;
    this.#busy.delete(pipeline);
    this.#holding.delete(pipeline);
  }
}

/** Whether reading from the connection is paused. */
function isFull({ waiting, bodies }: Pipeline): boolean {
  return waiting >= WAITING_PER_CONNECTION_MAX || bodies > 0;
}

/**
 * Merges the body parts from the current socket read into one buffer. Node would keep each part
 * separately, and 64 KiB in one-byte parts would take 5 MiB.
 */
function keepAsOne(request: IncomingMessage, response: ServerResponse): void {
  setImmediate(() => {
    // If the request has been served meanwhile, its reader owns the bytes.
    if (request.readableFlowing !== null || request.readableLength === 0) return;
    const held: Buffer = request.read();
    request.unshift(held);
    // Node discards an unread body by itself, but not the rest of a body that was read in part.
    response.once('finish', () => request.resume());
  });
}
