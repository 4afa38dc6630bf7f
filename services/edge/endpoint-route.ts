import type { FastifyReply, FastifyRequest, RouteOptions } from 'fastify';
import type { Endpoint } from '#edge/endpoint';
import type { EventLoopQueue } from '#edge/event-loop-queue';
import { type Exchange, exchangeOf } from '#edge/exchange';
import { unknownHeaders } from '#edge/limit-headers';
import type { ServePorts } from '#edge/serve';

/** Serves a request of an endpoint. Rejects only with a bug. */
type Serve = (
  endpoint: Endpoint,
  request: FastifyRequest,
  reply: FastifyReply,
  exchange: Exchange,
) => Promise<void>;

/**
 * The route of an endpoint: its requests are served with all that arrived in the same turn. A hook has
 * attached the exchange to each of them.
 */
export function endpointRoute(
  endpoint: Endpoint,
  serve: Serve,
  queue: EventLoopQueue,
  { prefix, clock, reply: answers }: Pick<ServePorts, 'prefix' | 'clock' | 'reply'>,
): RouteOptions {
  return {
    method: endpoint.method,
    url: `${prefix}${endpoint.path}`,
    bodyLimit: endpoint.bodyBytesMax,
    handler(request, reply) {
      const exchange = exchangeOf(request);
      const isSeen = endpoint.scope === 'none' || exchange?.caller !== undefined;
      if (exchange === undefined || !isSeen) {
        throw new Error('a hook sees every request first');
      }
      const busy = answers.begin(exchange);
      if (busy !== undefined) {
        answers.refuse(request, reply, endpoint, busy, unknownHeaders(clock.wallMs()));
        return;
      }
      const fail = (error: unknown) => void reply.send(error);
      queue.push(() => void serve(endpoint, request, reply, exchange).catch(fail));
    },
  };
}
