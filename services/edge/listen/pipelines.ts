import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { hasBody } from '#platform/has-body';

/** Waiting requests of a connection from which no more are read: a few kilobytes bring as many. */
const WAITING_PER_CONNECTION_MAX = 64;

/** Waiting requests of all connections; beyond, the connection with the most of them is ended. */
const WAITING_MAX = 16_384;

/**
 * Connections on which a request with a body waits. Nothing more is read from such a one, so that
 * each holds what one read of it brought, 64 KiB: all of them 64 MiB. Beyond, the oldest is ended.
 */
const HOLDING_MAX = 1_024;

/** The requests of one connection. */
type Pipeline = {
  readonly socket: Duplex;
  /** The newest answer: all others are in front of it. */
  last: ServerResponse;
  /** The one in front of that. */
  before: ServerResponse | undefined;
  requests: number;
  /** Requests that wait until the answers in front of theirs have left. */
  waiting: number;
  /** Those of them that have a body. */
  bodies: number;
  isWatched: boolean;
};

/**
 * The connections of a server, and on each the order of its requests: one that comes before an
 * earlier one's answer has left waits for that, unread. So a connection has one answer at most that
 * it does not take, however many requests it sends, and its observations happen in their order
 * (decision 161).
 */
export class Pipelines {
  readonly #pipelines = new WeakMap<Duplex, Pipeline>();
  /** Those in which requests wait. */
  readonly #busy = new Set<Pipeline>();
  /** Those in which requests with bodies wait, the oldest first. */
  readonly #holding = new Set<Pipeline>();
  #waiting = 0;

  /** Requests that wait for answers in front of theirs. */
  get waiting(): number {
    return this.#waiting;
  }

  /** Connections on which requests with bodies wait. */
  get holding(): number {
    return this.#holding.size;
  }

  /** Notes a request, before anything else is done with it. Returns how many its connection has had. */
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

  /** The newest answer of a connection, if it has had a request. */
  lastOf(socket: Duplex): ServerResponse | undefined {
    return this.#pipelines.get(socket)?.last;
  }

  /**
   * Calls `serve` when it is a request's turn: at once, or when the answers in front of its own
   * have left; never if the connection ends with one of them. To be called as soon as a request
   * comes.
   */
  inTurn(request: IncomingMessage, response: ServerResponse, serve: () => void): void {
    // Node ties the connection to the one answer that may be written now.
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
    // None is left when the connection has closed.
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
    // Node reads on after each whole message, and when a body is read or thrown away.
    pipeline.socket.on('resume', () => {
      if (!isFull(pipeline)) return;
      // A pause that came before this event, and after the call for it, is not noticed a second
      // time.
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

/** Whether no more is to be read from the connection for now. */
function isFull({ waiting, bodies }: Pipeline): boolean {
  return waiting >= WAITING_PER_CONNECTION_MAX || bodies > 0;
}

/**
 * Makes one piece of what the read that is under way brings of a body: Node keeps each part of it
 * by itself, and 64 KiB of parts of a byte would hold 5 MiB.
 */
function keepAsOne(request: IncomingMessage, response: ServerResponse): void {
  setImmediate(() => {
    // Its turn may have come before: what is read by another is not taken from it.
    if (request.readableFlowing !== null || request.readableLength === 0) return;
    const held: Buffer = request.read();
    request.unshift(held);
    // Node throws away what is left of a body only where nothing of it has been read.
    response.once('finish', () => request.resume());
  });
}
