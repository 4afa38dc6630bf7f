import type { FastifyReply, FastifyRequest } from 'fastify';
import { countOf, readCaller } from '#edge/credentials';
import { API_PREFIX } from '#edge/endpoints';
import { attachExchange } from '#edge/exchange';
import { type Headers, unknownHeaders } from '#edge/limit-headers';
import type { Reply } from '#edge/reply';
import { requestIdFrom } from '#edge/request-id';
import { Fault, invalid, toFault } from '#fault/fault';
import type { Clock } from '#platform/clock';

/** Requests between first byte and answer; beyond, the process would only queue (architecture 3.7). */
const ACTIVE_REQUESTS_MAX = 8_192;

/** What the gate needs. */
export type GatePorts = {
  readonly clock: Clock;
  readonly reply: Reply;
  readonly isClosing: () => boolean;
  readonly activeRequests: () => number;
};

/**
 * The first hook of every request: gives it an id, refuses what is not HTTP/1.1 and what the
 * process has no room for, and finds out who calls. Whoever fails here costs the limiter nothing
 * and learns nothing (decisions 23 and 35). Returns a hook that answers what it refuses.
 */
export function gate({ clock, reply, isClosing, activeRequests }: GatePorts) {
  return (request: FastifyRequest, response: FastifyReply, done: () => void): void => {
    const requestId = requestIdFrom(request.headers['x-request-id']);
    const exchange = { requestId, startedMs: clock.monotonicMs(), caller: undefined };
    attachExchange(request, exchange);
    const isApi = isApiPath(request.raw.url ?? '');
    try {
      assertProtocol(request);
      if (isApi) {
        assertRoom(isClosing(), activeRequests());
        Object.assign(exchange, { caller: readCaller(request.raw) });
      }
      done();
    } catch (error) {
      const counted = { method: request.method, path: 'refused' };
      const limits: Headers = isApi ? unknownHeaders(clock.wallMs()) : {};
      reply.refuse(request, response, counted, toFault(error), limits);
    }
  };
}

/** Whether a URL belongs to the API, whose answers all carry the limit headers. */
export function isApiPath(url: string): boolean {
  if (!url.startsWith(API_PREFIX)) return false;
  const next = url.charAt(API_PREFIX.length);
  return next === '' || next === '/' || next === '?';
}

function assertProtocol({ raw }: FastifyRequest): void {
  if (raw.httpVersionMajor === 1 && raw.httpVersionMinor < 1) {
    throw invalid('http_version_not_supported', undefined, 'HTTP/1.1 is the oldest version served');
  }
  if (countOf(raw.rawHeaders, 'host') !== 1) {
    throw invalid('malformed_request', 'Host', 'there must be one Host header');
  }
}

function assertRoom(isClosing: boolean, activeRequests: number): void {
  if (isClosing) throw busy('shutting_down', 'this server is shutting down');
  if (activeRequests > ACTIVE_REQUESTS_MAX) throw busy('overloaded', 'too many requests at once');
}

function busy(reason: 'shutting_down' | 'overloaded', text: string): Fault {
  return new Fault('service_unavailable', text, { reason, retryAfterS: 1 });
}
