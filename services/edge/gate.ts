import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Admission } from '#edge/admission';
import { countOf } from '#edge/credentials';
import { API_PREFIX } from '#edge/endpoints';
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
    const isApi = isApiRequest(request);
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

/**
 * Whether a request belongs to the API, whose answers all carry the limit headers and need a key.
 * The router reads more spellings of a path than the plain one, so its word counts as well.
 */
export function isApiRequest(request: FastifyRequest): boolean {
  const { url = '' } = request.raw;
  if (isApiPath(url)) return true;
  return isApiPath(request.routeOptions.url ?? '') || isApiPath(plainPathOf(url));
}

/** The path of a URL as the router reads it: without origin (RFC 9112, 3.2.2), query and escapes. */
export function plainPathOf(url: string): string {
  const full = url.startsWith('/') ? url : (URL.parse(url)?.pathname ?? url);
  const [path = ''] = full.split(/[?#]/, 1);
  // The router has refused what cannot be decoded before it gets here.
  return path.includes('%') ? decodeURI(path) : path;
}

function isApiPath(url: string): boolean {
  if (!url.startsWith(API_PREFIX)) return false;
  const next = url.charAt(API_PREFIX.length);
  return next === '' || next === '/' || next === '?' || next === '#';
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
