import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { hasBody } from '#stdlib/has-body';

/**
 * Maximum number of waiting requests of one connection. A full connection is paused, because a few
 * kilobytes can carry this many requests.
 */
const WAITING_PER_CONNECTION_MAX = 64;

/**
 * Maximum number of waiting requests of all connections. Above, the connection with most is closed.
 */
const WAITING_MAX = 16_384;

/**
 * Maximum number of connections on which a request with a body waits. Above, the oldest is closed.
 *
 * Such a connection is paused, so it holds at most one read of 64 KiB: 64 MiB in total.
 */
const HOLDING_MAX = 1_024;

/** State of one connection. */
type Pipeline = {
  readonly socket: Duplex;
  /** Answer to the newest request. All other answers are sent before it. */
  last: ServerResponse;
  /** Answer directly before `last`. */
  before: ServerResponse | undefined;
  requests: number;
  /** Number of requests that wait for earlier answers. */
  waiting: number;
  /** Number of waiting requests that have a body. */
  bodies: number;
  isWatched: boolean;
};

/**
 * Order of the requests of each connection (HTTP pipelining).
 *
 * A request that arrives before an earlier answer has been sent waits, unread. So each connection
 * has at most one answer that its client does not read. The observations of a connection are
 * applied in their order (decision 161).
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
   * Registers a request before any other work. Returns the number of requests of its connection.
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

  /** Answer to the newest request of a connection; undefined before the first request. */
  lastOf(socket: Duplex): ServerResponse | undefined {
    return this.#pipelines.get(socket)?.last;
  }

  /**
   * Calls `serve` when all earlier answers of the connection have been sent, or at once if there
   * are none. Never calls `serve` if the connection closes first.
   *
   * Call this method as soon as the request arrives.
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
 * Merges the parts of a body that the current read brings into one buffer. Node keeps each part
 * separately, and 64 KiB in one-byte parts would take 5 MiB.
 */
function keepAsOne(request: IncomingMessage, response: ServerResponse): void {
  setImmediate(() => {
    // The request may have been served meanwhile. Its bytes belong to its reader then.
    if (request.readableFlowing !== null || request.readableLength === 0) return;
    const held: Buffer = request.read();
    request.unshift(held);
    // Node discards the rest of a body only if nothing of the body has been read, so discard it
    // here.
    response.once('finish', () => request.resume());
  });
}
