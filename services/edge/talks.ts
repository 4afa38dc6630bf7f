import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { hasBody } from '#platform/has-body';

/** Waiting requests of a connection from which no more are read: as many come with a few kilobytes. */
const WAITING_PER_CONNECTION_MAX = 64;

/** Waiting requests of all connections; beyond, the connection with the most of them is ended. */
const WAITING_MAX = 16_384;

/**
 * Connections on which a request with a body waits. Nothing more is read from such a one, so that each
 * holds what one read of it brought, 64 KiB: all of them 64 MiB. Beyond, the oldest is ended.
 */
const HOLDING_MAX = 1_024;

/** What has happened on a connection. */
type Talk = {
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
export class Talks {
  readonly #talks = new WeakMap<Duplex, Talk>();
  /** Those in which requests wait. */
  readonly #busy = new Set<Talk>();
  /** Those in which requests with bodies wait, the oldest first. */
  readonly #holding = new Set<Talk>();
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
    const talk = this.#talks.get(socket);
    if (talk === undefined) {
      const fresh = { socket, last: response, before: undefined, requests: 1 };
      this.#talks.set(socket, { ...fresh, waiting: 0, bodies: 0, isWatched: false });
      return 1;
    }
    talk.before = talk.last;
    talk.last = response;
    talk.requests += 1;
    return talk.requests;
  }

  /** The newest answer of a connection, if it has had a request. */
  lastOf(socket: Duplex): ServerResponse | undefined {
    return this.#talks.get(socket)?.last;
  }

  /**
   * Calls `serve` when it is a request's turn: at once, or when the answers in front of its own have
   * left; never if the connection ends with one of them. To be called as soon as a request comes.
   */
  inTurn(request: IncomingMessage, response: ServerResponse, serve: () => void): void {
    // Node ties the connection to the one answer that may be written now.
    const talk = response.socket === null ? this.#talks.get(request.socket) : undefined;
    if (talk?.before === undefined) {
      serve();
      return;
    }
    const bodies = hasBody(request) ? 1 : 0;
    talk.before.once('finish', () => {
      this.#leave(talk, bodies);
      if (response.socket !== null) serve();
    });
    this.#enter(talk, bodies);
    if (bodies > 0) keepAsOne(request, response);
  }

  #enter(talk: Talk, bodies: number): void {
    talk.waiting += 1;
    talk.bodies += bodies;
    this.#waiting += 1;
    this.#busy.add(talk);
    if (talk.bodies > 0) this.#holding.add(talk);
    if (!talk.isWatched) this.#watch(talk);
    if (isFull(talk)) talk.socket.pause();
    if (this.#waiting > WAITING_MAX) this.#endBusiest();
    const [oldest] = this.#holding;
    if (this.#holding.size > HOLDING_MAX && oldest !== undefined) this.#end(oldest);
  }

  #leave(talk: Talk, bodies: number): void {
    // None is left when the connection has closed.
    if (talk.waiting === 0) return;
    talk.waiting -= 1;
    talk.bodies -= bodies;
    this.#waiting -= 1;
    if (talk.waiting === 0) this.#busy.delete(talk);
    if (talk.bodies === 0) this.#holding.delete(talk);
    const isHalfEmpty = talk.waiting === WAITING_PER_CONNECTION_MAX / 2;
    if ((isHalfEmpty || bodies > 0) && !isFull(talk)) talk.socket.resume();
  }

  #watch(talk: Talk): void {
    talk.isWatched = true;
    talk.socket.once('close', () => this.#forget(talk));
    // Node reads on after each whole message, and when a body is read or thrown away.
    talk.socket.on('resume', () => {
      if (!isFull(talk)) return;
      // A pause that came before this event, and after the call for it, is not noticed a second time.
      if (talk.socket.isPaused()) talk.socket.emit('pause');
      else talk.socket.pause();
    });
  }

  #endBusiest(): void {
    let busiest: Talk | undefined;
    for (const talk of this.#busy) {
      if (talk.waiting > (busiest?.waiting ?? 0)) busiest = talk;
    }
    if (busiest !== undefined) this.#end(busiest);
  }

  #end(talk: Talk): void {
    this.#forget(talk);
    talk.socket.destroy();
  }

  #forget(talk: Talk): void {
    this.#waiting -= talk.waiting;
    talk.waiting = 0;
    talk.bodies = 0;
    this.#busy.delete(talk);
    this.#holding.delete(talk);
  }
}

/** Whether no more is to be read from the connection for now. */
function isFull({ waiting, bodies }: Talk): boolean {
  return waiting >= WAITING_PER_CONNECTION_MAX || bodies > 0;
}

/**
 * Makes one piece of what the read that is under way brings of a body: Node keeps each part of it by
 * itself, and 64 KiB of parts of a byte would hold 5 MiB.
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
