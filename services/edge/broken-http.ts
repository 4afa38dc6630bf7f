import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { meansApi } from '#edge/api-path';
import { readCaller } from '#edge/credentials';
import { anonymousReply, rawFaultReply } from '#edge/fault-reply';
import { REQUESTS_PER_SOCKET_MAX } from '#edge/http-limits';
import type { Pipelines } from '#edge/pipelines';
import { requestIdFrom } from '#edge/request-id';
import { Fault, invalid, toFault } from '#fault/fault';
import type { Clock } from '#platform/clock';

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
