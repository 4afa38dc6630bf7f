import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import { readCaller } from '#edge/callers/exchange';
import { type AddressWarnings, addressWarnings } from '#edge/callers/key-notes';
import { HTTP_LIMITS, meansApi, REQUESTS_PER_SOCKET_MAX, requestIdFrom } from '#edge/http';
import { UnfinishedBodies } from '#edge/listen/bodies';
import { Pipelines } from '#edge/listen/pipelines';
import { UnreadAnswers } from '#edge/listen/slow-readers';
import type { ConnectionMetrics } from '#edge/serve/metrics';
import { anonymousReply, rawFaultReply } from '#edge/serve/reply';
import { Fault, invalid, toFault } from '#fault/fault';
import type { Clock } from '#platform/clock';
import type { Logger } from '#platform/logger';

/** The limits on connections that send or read too slowly, or too much at once. */
type ConnectionLimits = {
  readonly warnings: AddressWarnings;
  readonly pipelines: Pipelines;
  readonly bodies: UnfinishedBodies;
  readonly unread: UnreadAnswers;
  /** Reports how many there are of each. */
  measure(): void;
};

/** The bounds of a listener that no single request can see, with their metrics and log lines. */
export function connectionLimits(
  clock: Clock,
  metrics: ConnectionMetrics,
  logger: Logger,
): ConnectionLimits {
  const warnings = addressWarnings(clock, logger);
  const pipelines = new Pipelines();
  const bodies = new UnfinishedBodies((what) => {
    metrics.bodyGivenUp();
    warnings.unfinished(what);
  });
  const unread = new UnreadAnswers(clock, metrics.slowReaderEnded);
  return {
    warnings,
    pipelines,
    bodies,
    unread,
    measure() {
      metrics.unfinished(bodies.count, bodies.bytes);
      metrics.unread(unread.bytes);
      metrics.waiting(pipelines.waiting);
    },
  };
}

/**
 * How long a sender of broken requests has to read its answer before the connection is cut, in
 * milliseconds: cutting at once would take back an answer that has not arrived yet.
 */
const LINGER_MS = 1_000;

/**
 * Requests that Node or Fastify refuse before any hook runs: they get our envelope and headers all
 * the same (attacks, "hardening recipe"), and in their turn: an answer never overtakes those of
 * earlier requests on the same connection.
 */
export function brokenHttp(clock: Clock, pipelines: Pipelines) {
  const broken = new WeakSet<Duplex>();
  const raw = (fault: Fault) => rawFaultReply(fault, requestIdFrom(undefined), clock.wallMs());

  function note(request: IncomingMessage, response: ServerResponse): void {
    const requests = pipelines.note(request, response);
    const isLast = requests >= REQUESTS_PER_SOCKET_MAX || asksForUpgrade(request);
    if (isLast) response.setHeader('connection', 'close');
  }

  function respond(request: IncomingMessage, response: ServerResponse, fault: Fault): void {
    const requestId = requestIdFrom(request.headers['x-request-id']);
    pipelines.inTurn(request, response, () => {
      const { status, headers, body } = anonymousReply(fault, requestId, clock.wallMs());
      response.writeHead(status, headers).end(body);
    });
  }

  return {
    /** For sockets whose bytes are no request: malformed, timed out, headers too large. */
    clientErrorHandler(error: Error & { code?: string }, socket: Duplex): void {
      if (error.code === 'ECONNRESET') socket.destroy();
      if (socket.destroyed || broken.has(socket)) return;
      broken.add(socket);
      const fault = faultOfParser(error.code);
      const last = pipelines.lastOf(socket);
      if (last === undefined) hangUp(socket, raw(fault));
      else if (last.req.complete) afterwards(last, () => hangUp(socket, raw(fault)));
      else breakOff(last, socket, fault);
    },
    /** For URLs that no router can read; in the API, a caller needs a key to learn even that. */
    frameworkErrors(
      error: { code: string },
      request: { raw: IncomingMessage },
      reply: { raw: ServerResponse },
    ): void {
      const keyless = meansApi(request.raw.url ?? '') ? faultOfCaller(request.raw) : undefined;
      respond(request.raw, reply.raw, keyless ?? faultOfRouter(error.code));
    },
    /** For what Node does not pass on as a request, and to know which answers are under way. */
    watch(server: Server): void {
      server.prependListener('request', note);
      server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => {
        note(request, response);
        const text = 'no expectation but 100-continue is met';
        respond(request, response, invalid('expectation_failed', 'Expect', text));
      });
      server.on('connect', (_request, socket) => {
        // Node has taken its own listeners away: unheard, a reset would end the process.
        socket.on('error', () => socket.destroy());
        hangUp(socket, raw(new Fault('not_found', 'this is no proxy')));
      });
    },
  };
}

/** Whether Node throws away what came together with the request. */
function asksForUpgrade({ headers }: IncomingMessage): boolean {
  return headers.upgrade !== undefined && /\bupgrade\b/i.test(headers.connection ?? '');
}

/**
 * Ends a request whose body will never be whole. The reader of the body refuses the request in
 * the usual way; without a reader it has an answer or will get one, and there is nothing to add.
 */
function breakOff(response: ServerResponse, socket: Duplex, fault: Fault): void {
  if (!response.headersSent) response.setHeader('connection', 'close');
  afterwards(response, () => hangUp(socket, ''));
  if (response.req.listenerCount('error') > 0) response.req.emit('error', fault);
}

/** Runs `action` once an answer has left. */
function afterwards(response: ServerResponse, action: () => void): void {
  if (response.writableFinished) action();
  else response.once('finish', action);
}

/** Says a last word and cuts the connection, once it may have been read. */
function hangUp(socket: Duplex, lastWords: string): void {
  if (socket.writable) socket.end(lastWords);
  setTimeout(() => socket.destroy(), LINGER_MS).unref();
}

/** The refusal of bytes that Node's parser of HTTP refuses with this code. */
export function faultOfParser(code: string | undefined): Fault {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return invalid('headers_too_large', undefined, 'the request headers are too large');
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return invalid('request_timeout', undefined, 'the request took too long to arrive');
    default:
      return invalid('malformed_request', undefined, 'this is not a well-formed HTTP request');
  }
}

/** Why a request has no caller, or undefined if it shows a key. */
function faultOfCaller(request: IncomingMessage): Fault | undefined {
  try {
    readCaller(request);
    return undefined;
  } catch (error) {
    return toFault(error);
  }
}

function faultOfRouter(code: string): Fault {
  if (code === 'FST_ERR_MAX_PARAM_LENGTH') {
    return invalid('uri_too_long', undefined, 'a part of the URL is too long');
  }
  return invalid('malformed_request', undefined, 'the URL is malformed');
}

/** How often a closing server looks at its connections, in milliseconds. */
const SWEEP_MS = 100;

/**
 * How long no connection must have come before a server that is not ready is taken to be alone: a
 * fifth of the time it has, but no less than this, in milliseconds, which is two probes of a
 * balancer that asks every half second. A connection that comes after the listener has closed meets
 * a reset, after which no caller knows what became of its call. Source: decision 99.
 */
const QUIET_MS_MIN = 1_000;

/** A server's way out, in two steps. */
type Drain = {
  /**
   * Fulfils when no connection is left and none has come for a second or a fifth of `forMs`, or
   * after `forMs`. Until then the server answers as ever, but each answer is its connection's last:
   * a balancer has time to send new calls elsewhere, and no caller's next call meets a closed
   * listener.
   */
  sendAway(forMs: number): Promise<void>;
  /**
   * Ends the connections that wait for nothing within a fifth of a second, the others when they
   * have their answer, and slow senders when their time is over: Node counts a connection without
   * any request as busy, and stops looking at the time once it closes.
   */
  end(): void;
};

/** Watches a server's connections from its start. */
export function drainOf(server: Server): Drain {
  const open = new Set<Socket>();
  const unused = new Set<Socket>();
  let arrivals = 0;
  server.on('connection', (socket: Socket) => {
    arrivals += 1;
    open.add(socket);
    unused.add(socket);
    socket.once('close', () => {
      open.delete(socket);
      unused.delete(socket);
    });
  });
  server.on('request', ({ socket }) => unused.delete(socket));
  return {
    async sendAway(forMs) {
      const enoughMs = Math.max(QUIET_MS_MIN, forMs / 5);
      let quietMs = 0;
      for (let leftMs = forMs; leftMs > 0 && quietMs < enoughMs; leftMs -= SWEEP_MS) {
        const before = arrivals;
        await sleep(Math.min(leftMs, SWEEP_MS));
        // After a standstill waiting connections are accepted behind the timers.
        await setImmediate();
        quietMs = open.size === 0 && arrivals === before ? quietMs + SWEEP_MS : 0;
      }
    },
    end() {
      // Not at the first look: the first request of one that has just come may be on its way.
      let unusedBefore = new Set<Socket>();
      const sweep = setInterval(() => {
        for (const socket of unused) if (unusedBefore.has(socket)) socket.destroy();
        unusedBefore = new Set(unused);
        server.closeIdleConnections();
      }, SWEEP_MS).unref();
      const overMs = HTTP_LIMITS.requestTimeout;
      const end = setTimeout(() => server.closeAllConnections(), overMs).unref();
      server.once('close', () => {
        clearInterval(sweep);
        clearTimeout(end);
      });
    },
  };
}
