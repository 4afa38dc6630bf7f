import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { rawFaultReply } from '#edge/fault-reply';
import { requestIdFrom } from '#edge/request-id';
import { type Fault, invalid } from '#fault/fault';
import type { Clock } from '#platform/clock';

/**
 * Requests that Node or Fastify refuse before any hook runs: they get our envelope and headers all
 * the same (attacks, "hardening recipe").
 */
export function brokenHttp(clock: Clock) {
  const raw = (fault: Fault) => rawFaultReply(fault, requestIdFrom(undefined), clock.wallMs());
  return {
    /** For sockets whose bytes are no request: malformed, timed out, headers too large. */
    clientErrorHandler(error: Error & { code?: string }, socket: Socket): void {
      if (error.code === 'ECONNRESET' || !socket.writable) {
        socket.destroy();
        return;
      }
      socket.end(raw(faultOfParser(error.code)));
    },
    /** For URLs that no router can read. */
    frameworkErrors(
      error: { code: string },
      _request: unknown,
      reply: { raw: ServerResponse },
    ): void {
      endRaw(reply.raw, raw(faultOfRouter(error.code)));
    },
    /** For an `Expect` header other than `100-continue`. */
    watchExpectations(server: Server): void {
      server.on('checkExpectation', (_request: IncomingMessage, response: ServerResponse) => {
        const text = 'no expectation but 100-continue is met';
        endRaw(response, raw(invalid('expectation_failed', 'Expect', text)));
      });
    },
  };
}

function endRaw(response: ServerResponse, bytes: string): void {
  response.socket?.end(bytes);
}

function faultOfParser(code: string | undefined): Fault {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return invalid('headers_too_large', undefined, 'the request headers are too large');
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return invalid('request_timeout', undefined, 'the request took too long to arrive');
    default:
      return invalid('malformed_request', undefined, 'this is not a well-formed HTTP request');
  }
}

function faultOfRouter(code: string): Fault {
  if (code === 'FST_ERR_MAX_PARAM_LENGTH') {
    return invalid('uri_too_long', undefined, 'a part of the URL is too long');
  }
  return invalid('malformed_request', undefined, 'the URL is malformed');
}
