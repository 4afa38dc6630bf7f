import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Admission } from '#edge/callers/admission';
import { ENDPOINTS } from '#edge/endpoints/all';
import {
  API_PREFIX,
  countedRoute,
  exchangeOf,
  meansApi,
  plainPathOf,
  unknownHeaders,
} from '#edge/http';
import type { CallIds } from '#edge/serve/engine-calls';
import type { Reply } from '#edge/serve/reply';
import { Fault, invalid, toFault } from '#errors/fault';
import type { ProcessPorts } from '#telemetry/process-ports';

type RefusalPorts = ProcessPorts & {
  readonly admission: Admission;
  readonly callIds: CallIds;
  readonly reply: Reply;
};

/**
 * Creates handlers for requests that reach no endpoint: unknown paths, and bodies that Fastify
 * refuses.
 */
export function refusals(ports: RefusalPorts) {
  const { admission, callIds, clock, reply, onBug } = ports;

  const bugOf = (request: FastifyRequest) => (error: unknown) =>
    onBug(error, exchangeOf(request)?.trace?.traceparent);

  /**
   * Sends a refusal. With a valid key, the refused call costs a request like any other call
   * (decisions 25 and 35).
   */
  async function refuseAdmitted(
    request: FastifyRequest,
    response: FastifyReply,
    path: string,
    fault: Fault,
    allowed: readonly string[],
  ): Promise<void> {
    const counted = { method: request.method, path };
    const exchange = exchangeOf(request);
    const caller = exchange?.caller;
    const allow = allowed.length === 0 ? {} : { allow: allowed.join(', ') };
    const busy = exchange === undefined ? undefined : reply.begin(exchange);
    if (caller === undefined || busy !== undefined) {
      reply.refuse(request, response, counted, busy ?? fault, {
        ...unknownHeaders(clock.wallMs()),
        ...allow,
      });
      return;
    }
    const call = {
      caller,
      address: request.ip,
      userAgent: request.headers['user-agent'],
      callId: callIds.next(),
      callTag: 0,
      isKeyed: false,
      scope: 'read',
      cycles: 0,
      traceparent: exchange?.trace?.traceparent,
    } as const;
    const { refusal, headers } = await admission.admit(call);
    reply.refuse(request, response, counted, refusal ?? fault, { ...headers, ...allow });
  }

  function notFound(request: FastifyRequest, response: FastifyReply): void {
    if (!meansApi(request.url)) {
      response.code(NOT_FOUND).type('text/plain; charset=utf-8').send('Not Found\n');
      return;
    }
    const fault = new Fault('not_found', 'unknown endpoint');
    const allowed = methodsOf(plainPathOf(request.url));
    refuseAdmitted(request, response, 'unknown', fault, allowed).catch(bugOf(request));
  }

  return {
    error(error: Error & { code?: string }, request: FastifyRequest, response: FastifyReply): void {
      // For an unknown path, answer `not_found` instead of the body's error.
      if (request.is404) {
        notFound(request, response);
        return;
      }
      const { url } = request.routeOptions;
      const path = url === undefined ? 'refused' : countedRoute(url);
      const fault = faultOf(error);
      if (fault.reason === 'too_many_unfinished_bodies') {
        // During a flood, the limiter is not asked about the key.
        const counted = { method: request.method, path };
        reply.refuse(request, response, counted, fault, unknownHeaders(clock.wallMs()));
      } else refuseAdmitted(request, response, path, fault, []).catch(bugOf(request));
    },
    notFound,
  };
}

/** Status for paths outside the API. They have no envelope, so no fault supplies the status. */
const NOT_FOUND = 404;

const PATTERNS = ENDPOINTS.map(({ method, path }) => ({
  method,
  pattern: new RegExp(`^${API_PREFIX}${path.replace(':id', '[^/]+')}$`),
}));

/** A path's methods for the `Allow` header; empty if no endpoint has the path (decision 27). */
function methodsOf(path: string): string[] {
  return PATTERNS.filter(({ pattern }) => pattern.test(path)).map(({ method }) => method);
}

/** Maps an error from Fastify's body reader to an API fault. */
function faultOf(error: Error & { code?: string }): Fault {
  switch (error.code) {
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
    case 'FST_ERR_CTP_INVALID_CONTENT_TYPE':
      return invalid('unsupported_media_type', 'Content-Type', 'must be application/json');
    // The client disconnected before its body was complete, so this answer is visible only in
    // metrics.
    case 'ECONNRESET':
      return invalid('malformed_request', undefined, 'the body is incomplete');
    default:
      return toFault(error);
  }
}
