import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Permission } from '#accounts/people';
import type { ConsoleConfig, ConsolePorts } from '#console/app/ports';
import type { ActiveRequests } from '#console/app/refusal';
import { assertMayDo } from '#console/app/route';
import type { Visit } from '#console/app/visit';
import { type LiveSessions, sessionIdOf } from '#console/people/live-sessions';
import { Admission } from '#edge/callers/admission';
import { attachExchange } from '#edge/callers/exchange';
import { LimitedKeys } from '#edge/callers/limited-keys';
import { ENDPOINTS } from '#edge/endpoints/all';
import type { Endpoint } from '#edge/endpoints/endpoint';
import { EventStreams } from '#edge/events/event-streams';
import { connectionLimits } from '#edge/listen/listener';
import { AccountAudit, AccountBilling } from '#edge/serve/account';
import { CallIds, EngineCalls } from '#edge/serve/engine-calls';
import { EventLoopQueue, endpointRoute } from '#edge/serve/gate';
import {
  type AnswerMetrics,
  admissionMetrics,
  connectionMetrics,
  streamEnds,
} from '#edge/serve/metrics';
import { Reply } from '#edge/serve/reply';
import { type ServePorts, serve } from '#edge/serve/serve';

/** What of the documented endpoints is about instances, and so for members, too. */
const TAGS: ReadonlySet<Endpoint['tag']> = new Set(['Instances', 'Engine', 'Test', 'Personas']);

/**
 * How long a stream of events lasts at most, in milliseconds, so that one whose session has ended, or
 * whose member may no longer, is over within a minute; and how soon its page comes back for the next
 * one. Source: decision 253.
 */
const STREAM_MS_MAX = 50_000;
const STREAM_RETRY_MS = 100;

/** Streams at once: half of the connections, so that they leave room for who signs in. Chosen. */
const STREAMS_MAX = 1_000;

/** What these routes need of the application that they are part of. */
type Setting = {
  /** Where their paths begin. */
  readonly prefix: string;
  readonly live: LiveSessions;
  /** Bounds what is asked of stores before a caller is known. */
  readonly active: ActiveRequests;
  readonly visitOf: (request: FastifyRequest) => Visit;
  /** What every answer carries. */
  readonly safety: Readonly<Record<string, string>>;
  /** Hears of every answer. */
  readonly metrics: AnswerMetrics;
};

/**
 * The documented endpoints about instances for members who are signed in: the same requests and
 * answers below another prefix, and by the same code, with a session where others send a key. An
 * endpoint of the scope `read` is for those who may see instances, and one of the scope `full` for
 * those who may change them. Source: decision 253.
 */
export function addInstanceRoutes(
  app: FastifyInstance,
  config: ConsoleConfig,
  ports: ConsolePorts,
  setting: Setting,
): void {
  const { live, visitOf, active } = setting;
  const { clock, logger } = ports;
  const limits = connectionLimits(clock, connectionMetrics(ports.metrics), logger);
  limits.unread.watch(app.server);
  const reply = new Reply(clock, setting.metrics, logger, limits.unread, setting.safety);
  const limited = new LimitedKeys(clock, ports.accountNews);
  const served = servePortsOf(config, ports, setting.prefix, reply, limited);
  // Streams that are open would keep the application from closing.
  app.addHook('preClose', async () => served.streams.drain());
  app.addHook('onClose', async () => limited[Symbol.dispose]());
  app.decorateRequest('exchange', undefined);
  const queue = new EventLoopQueue();
  const serveIt: Parameters<typeof endpointRoute>[1] = (...asked) => serve(...asked, served);
  void app.register(async (scope) => {
    // Bodies as bytes: what they say is looked at in the order of the API.
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('application/json', (request, payload, done) =>
      limits.bodies.read(request, payload, done),
    );
    for (const endpoint of ENDPOINTS.filter(({ tag }) => TAGS.has(tag))) {
      const permission = permissionFor(endpoint);
      const isStream = endpoint.handler.kind === 'stream';
      scope.route({
        ...endpointRoute(endpoint, serveIt, queue, served),
        // Before a body is read.
        async onRequest(request) {
          const visit = visitOf(request);
          // Pages open the next stream, and look after a refused one, whether or not someone is there.
          const isUse = !isStream && request.headers['x-unattended'] === undefined;
          const caller = await active.during(() => live.callerOf(visit, isUse));
          assertMayDo(caller, permission);
          const { userId, accountId } = caller.session;
          const sessionId = sessionIdOf(caller.session);
          attachExchange(request, {
            requestId: visit.requestId,
            startedMs: clock.monotonicMs(),
            caller: { accountId, credential: sessionId, member: { userId, sessionId } },
            isActive: false,
          });
        },
      });
    }
  });
}

function permissionFor({ scope }: Endpoint): Permission {
  return scope === 'full' ? 'instances.write' : 'instances.read';
}

function servePortsOf(
  { clusterSecrets }: ConsoleConfig,
  { engine, limiter, accountNews, clock, randomness, metrics }: ConsolePorts,
  prefix: string,
  reply: Reply,
  limited: LimitedKeys,
): ServePorts {
  const renewal = { streamMsMax: STREAM_MS_MAX, retryMs: STREAM_RETRY_MS };
  const onEnd = streamEnds(metrics);
  return {
    ...{ prefix, clock, reply },
    admission: new Admission(limiter, clock, admissionMetrics(metrics), limited),
    engine: new EngineCalls(engine, clock, randomness, clusterSecrets),
    callIds: new CallIds(clusterSecrets),
    streams: new EventStreams({
      ...{ clock, randomness, accountNews, onEnd, renewal },
      streamsMax: STREAMS_MAX,
    }),
    account: { clock, audit: new AccountAudit(limiter), billing: new AccountBilling(limiter) },
    inFlight: { calls: 0 },
  };
}
