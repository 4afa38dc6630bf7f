import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import { type AddressWarnings, addressWarnings } from '#edge/callers/known-callers';
import {
  HTTP_LIMITS,
  meansApi,
  REQUESTS_PER_SOCKET_MAX,
  readCaller,
  requestIdFrom,
} from '#edge/http';
import { UnfinishedBodies } from '#edge/listen/bodies';
import { Pipelines, UnreadAnswers } from '#edge/listen/slow-peers';
import { anonymousReply, type ConnectionMetrics, rawFaultReply } from '#edge/serve/reply';
import { Fault, invalid, toFault } from '#errors/fault';
import type { Clock } from '#stdlib/clock';
import type { Logger } from '#telemetry/logger';

/**
 * Limits of a listener on connections that send or read too slowly, or send too many requests
 * together.
 */
type ConnectionLimits = {
  readonly warnings: AddressWarnings;
  readonly pipelines: Pipelines;
  readonly bodies: UnfinishedBodies;
  readonly unread: UnreadAnswers;
  /** Updates the gauges for unfinished bodies, unread answers and waiting requests. */
  measure(): void;
};

/** Creates a listener's connection limits, with their metrics and log lines. */
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
 * Delay between the last answer on a broken connection and the cut, in milliseconds. An immediate
 * cut could discard an answer that is still on its way.
 */
const LINGER_MS = 1_000;

/**
 * Answers requests that Node or Fastify refuses before any hook runs.
 *
 * These answers have the usual envelope and headers (attacks, "hardening recipe"). Each answer
 * waits for the answers to earlier requests on the same connection.
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
    /** Handles broken requests: malformed, timed out, or with too large headers. */
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
    /**
     * Handles URLs that the router cannot decode. API paths require a key even for this refusal.
     */
    frameworkErrors(
      error: { code: string },
      request: { raw: IncomingMessage },
      reply: { raw: ServerResponse },
    ): void {
      const keyless = meansApi(request.raw.url ?? '') ? faultOfCaller(request.raw) : undefined;
      respond(request.raw, reply.raw, keyless ?? faultOfRouter(error.code));
    },
    /** Notes all requests to a server. Answers `Expect` and CONNECT, which reach no handler. */
    watch(server: Server): void {
      server.prependListener('request', note);
      server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => {
        note(request, response);
        const text = 'the only supported expectation is 100-continue';
        respond(request, response, invalid('expectation_failed', 'Expect', text));
      });
      server.on('connect', (_request, socket) => {
        // Node has removed its own listeners. Without this listener, a reset would end the process.
        socket.on('error', () => socket.destroy());
        hangUp(socket, raw(new Fault('not_found', 'this server is not a proxy')));
      });
    },
  };
}

/**
 * Whether the request asks for an upgrade. Node discards bytes that arrive after such a request.
 */
function asksForUpgrade({ headers }: IncomingMessage): boolean {
  return headers.upgrade !== undefined && /\bupgrade\b/i.test(headers.connection ?? '');
}

/**
 * Ends a request whose body will never be complete.
 *
 * If the body has a reader, the reader gets `fault` and refuses the request in the usual way.
 * Without a reader, the request is already answered, or its handler will answer.
 */
function breakOff(response: ServerResponse, socket: Duplex, fault: Fault): void {
  if (!response.headersSent) response.setHeader('connection', 'close');
  afterwards(response, () => hangUp(socket, ''));
  if (response.req.listenerCount('error') > 0) response.req.emit('error', fault);
}

/** Runs `action` after the answer has been written to the socket. */
function afterwards(response: ServerResponse, action: () => void): void {
  if (response.writableFinished) action();
  else response.once('finish', action);
}

/** Writes `text` and closes the connection after `LINGER_MS`. */
function hangUp(socket: Duplex, text: string): void {
  if (socket.writable) socket.end(text);
  setTimeout(() => socket.destroy(), LINGER_MS).unref();
}

/** Maps an error code from Node's HTTP parser to the answer's fault. */
export function faultOfParser(code: string | undefined): Fault {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return invalid('headers_too_large', undefined, 'the request headers are too large');
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return invalid('request_timeout', undefined, 'the request took too long to arrive');
    default:
      return invalid('malformed_request', undefined, 'the HTTP request is malformed');
  }
}

/** The refusal for a request without a well-formed key; undefined if the key is well-formed. */
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

/** Interval between two checks on a closing server's connections, in milliseconds. */
const SWEEP_MS = 100;

/**
 * Minimum quiet period before a draining server closes its listener, in milliseconds.
 *
 * The quiet period is a fifth of the drain time, but at least this value: two probes from a load
 * balancer that probes every 500 ms. After the close, new connections are reset, and their callers
 * cannot find out whether their call took effect. Source: decision 99.
 */
const QUIET_MS_MIN = 1_000;

/** Drains a server in two steps: first `sendAway`, then `end`. */
type Drain = {
  /**
   * Waits until the load balancer sends no new connections, for at most `forMs` milliseconds.
   *
   * Fulfils early if no connection is open and none has arrived for the quiet period: a fifth of
   * `forMs`, at least one second. Meanwhile Fastify closes each connection after its answer. So the
   * load balancer moves new calls to other edges, and no call reaches a closed listener.
   */
  sendAway(forMs: number): Promise<void>;
  /**
   * Closes a closing server's remaining connections.
   *
   * Idle connections close within 200 ms, busy connections after their answer, and slow senders at
   * the request timeout. Needed because Node counts a connection without any request as busy, and
   * enforces no timeouts after the server has begun to close.
   */
  end(): void;
};

/** Tracks a server's connections. Call this function before the server listens. */
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
        // If the event loop paused, pending connections are accepted only after the timers.
        await setImmediate();
        quietMs = open.size === 0 && arrivals === before ? quietMs + SWEEP_MS : 0;
      }
    },
    end() {
      // The first request of a new connection may be on its way, so the first sweep spares the
      // connection.
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
