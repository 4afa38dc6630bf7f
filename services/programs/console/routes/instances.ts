import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Permission } from '#accounts/people';
import type { ConsoleConfig, ConsolePorts } from '#console/app/ports';
import type { ActiveRequests } from '#console/app/refusal';
import { assertMayDo } from '#console/app/route';
import type { Visit } from '#console/app/visit';
import { type LiveSessions, sessionIdOf } from '#console/people/live-sessions';
import { Admission, LimitedKeys } from '#edge/callers/admission';
import { ENDPOINTS } from '#edge/endpoints/all';
import type { Endpoint } from '#edge/endpoints/endpoint';
import { EventStreams } from '#edge/events/open-streams';
import { attachExchange } from '#edge/http';
import { connectionLimits } from '#edge/listen/listener';
import { AccountAudit, AccountBilling } from '#edge/serve/account';
import { CallIds, EngineCalls } from '#edge/serve/engine-calls';
import {
  type AnswerMetrics,
  admissionMetrics,
  connectionMetrics,
  Reply,
  streamEnds,
} from '#edge/serve/reply';
import { EventLoopQueue, endpointRoute } from '#edge/serve/request-checks';
import { type ServePorts, serve } from '#edge/serve/serve';
import { AccountWebhooks } from '#edge/serve/webhooks';
import { SecretSeal } from '#stdlib/secret-seal';
import { SECRET_SEAL_LABEL } from '#webhooks/signature';

/** `Accept` of an `EventSource`. */
const EVENT_STREAM = 'text/event-stream';

/** Tags of the documented endpoints that members can use too. */
const TAGS: ReadonlySet<Endpoint['tag']> = new Set([
  ...(['Instances', 'Engine', 'Events', 'Webhooks'] as const),
  ...(['Test', 'Personas'] as const),
]);

/**
 * Maximum duration of an event stream, in milliseconds. The end of a session or permission closes
 * the stream at once (`LiveSessions`). If the announcement is lost, the stream lasts at most a
 * minute. Source: decision 253.
 */
const STREAM_MS_MAX = 50_000;
/** Delay before a page reconnects to an ended stream, in milliseconds. */
const STREAM_RETRY_MS = 100;

/**
 * Maximum concurrent streams: half of the connections. The other half is for sign-ins and short
 * requests.
 */
const STREAMS_MAX = 1_000;

/** Parts of the application that these routes need. */
type Setting = {
  /** Path prefix of the routes. */
  readonly prefix: string;
  readonly live: LiveSessions;
  /** Limits the number of requests that are authenticated concurrently. */
  readonly active: ActiveRequests;
  readonly visitOf: (request: FastifyRequest) => Visit;
  /** Headers of every answer. */
  readonly safety: Readonly<Record<string, string>>;
  /** Records the metrics of every answer. */
  readonly metrics: AnswerMetrics;
};

/**
 * Adds the documented endpoints for instances, events and webhooks, for signed-in members. Requests, answers and code are the
 * same as on an edge, below another prefix, with a session instead of an API key. Scope `read` maps
 * to permission `instances.read`, and scope `full` to `instances.write`. Source: decision 253.
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
  // Open streams would delay closing the application.
  app.addHook('preClose', async () => served.streams.drain());
  app.addHook('onClose', async () => limited[Symbol.dispose]());
  app.decorateRequest('exchange', undefined);
  const queue = new EventLoopQueue();
  const serveIt: Parameters<typeof endpointRoute>[1] = (...asked) => serve(...asked, served);
  void app.register(async (scope) => {
    // Bodies stay bytes: `serve` checks them in the order that the API defines.
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('application/json', (request, payload, done) =>
      limits.bodies.read(request, payload, done),
    );
    for (const endpoint of ENDPOINTS.filter(isServed)) {
      const permission = permissionFor(endpoint);
      const { kind } = endpoint.handler;
      scope.route({
        ...endpointRoute(endpoint, serveIt, queue, served),
        // Authenticates before the body is read.
        async onRequest(request) {
          const visit = visitOf(request);
          // Unattended pages reconnect streams and poll after refusals. Such requests do not extend
          // the session.
          const isFeedStream = kind === 'feed' && request.headers.accept === EVENT_STREAM;
          const isStream = kind === 'stream' || isFeedStream;
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

/** Whether the console serves an endpoint. Its pages send no fleet calls. */
function isServed({ tag, handler }: Endpoint): boolean {
  return TAGS.has(tag) && handler.kind !== 'fleet';
}

function permissionFor({ scope }: Endpoint): Permission {
  return scope === 'full' ? 'instances.write' : 'instances.read';
}

function servePortsOf(
  { clusterSecrets, areWebhooksInternal = false }: ConsoleConfig,
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
      ...{ clock, random: Math.random, accountNews, onEnd, renewal },
      streamsMax: STREAMS_MAX,
    }),
    account: {
      ...{ clock, audit: new AccountAudit(limiter), billing: new AccountBilling(limiter) },
      webhooks: new AccountWebhooks({
        ...{ engine, clock, randomness, callIds: new CallIds(clusterSecrets) },
        seal: new SecretSeal(clusterSecrets, SECRET_SEAL_LABEL),
        isInternalAllowed: areWebhooksInternal,
      }),
    },
    inFlight: { calls: 0 },
  };
}
