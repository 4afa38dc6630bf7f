import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Admission } from '#edge/admission';
import { isApiPath, meansApi } from '#edge/api-path';
import { countOf } from '#edge/credentials';
import { attachExchange, type Exchange } from '#edge/exchange';
import { KnownCallers } from '#edge/known-callers';
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
  readonly admission: Admission;
  readonly isClosing: () => boolean;
  readonly activeRequests: () => number;
};

/**
 * The first hook of every request: gives it an id, refuses what is not HTTP/1.1 and what the
 * process has no room for, and finds out who calls. Whoever fails here costs the limiter nothing
 * and learns nothing (decisions 23, 35 and 159). Returns a hook that answers what it refuses.
 */
export function gate({ clock, reply, admission, isClosing, activeRequests }: GatePorts) {
  const callers = new KnownCallers();
  return (request: FastifyRequest, response: FastifyReply, done: () => void): void => {
    const requestId = requestIdFrom(request.headers['x-request-id']);
    const startedMs = clock.monotonicMs();
    const exchange: Exchange = { requestId, startedMs, caller: undefined, isActive: false };
    attachExchange(request, exchange);
    // The router's word counts as well, should it ever read a path more freely than we do.
    const isApi = meansApi(request.raw.url ?? '') || isApiPath(request.routeOptions.url ?? '');
    // Answers of the API get theirs from `reply`; what stands beside it goes Fastify's own way.
    if (!isApi) response.header('x-request-id', requestId);
    try {
      assertProtocol(request);
      if (isApi) {
        assertRoom(isClosing(), activeRequests());
        exchange.caller = callers.read(request.raw);
        const barred = admission.refusalUnasked(exchange.caller, request);
        if (barred !== undefined) throw barred;
        reply.begin(exchange);
      }
    } catch (error) {
      const counted = { method: request.method, path: 'refused' };
      const limits: Headers = isApi ? unknownHeaders(clock.wallMs()) : {};
      reply.refuse(request, response, counted, toFault(error), limits);
      return;
    }
    done();
  };
}

function assertProtocol({ raw }: FastifyRequest): void {
  const { httpVersionMajor: major, httpVersionMinor: minor } = raw;
  if (major < 1 || (major === 1 && minor < 1)) {
    throw invalid('http_version_not_supported', undefined, 'HTTP/1.1 is the oldest version served');
  }
  if (countOf(raw.rawHeaders, 'host') !== 1) {
    throw invalid('malformed_request', 'Host', 'there must be one Host header');
  }
}

function assertRoom(isClosing: boolean, activeRequests: number): void {
  if (isClosing) throw busy('shutting_down', 'this server is shutting down');
  if (activeRequests >= ACTIVE_REQUESTS_MAX) throw busy('overloaded', 'too many requests at once');
}

function busy(reason: 'shutting_down' | 'overloaded', text: string): Fault {
  return new Fault('service_unavailable', text, { reason, retryAfterS: 1 });
}
