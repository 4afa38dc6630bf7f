import type { FastifyInstance } from 'fastify';
import Fastify from 'fastify';
import type { AccountNews } from '#accounts/account';
import { Admission, LimitedKeys } from '#edge/callers/admission';
import { documentRoutes } from '#edge/document/routes';
import { ENDPOINTS } from '#edge/endpoints/all';
import type { Endpoint } from '#edge/endpoints/endpoint';
import { EventStreams } from '#edge/events/open-streams';
import { API_PREFIX, HTTP_LIMITS } from '#edge/http';
import { brokenHttp, connectionLimits, drainOf } from '#edge/listen/listener';
import { AccountAudit, AccountBilling } from '#edge/serve/account';
import { CallIds, EngineCalls } from '#edge/serve/engine-calls';
import { FleetCalls, type ServeFleetPorts, serveFleet } from '#edge/serve/fleet';
import {
  type NotificationPorts,
  Notifications,
  serveNotification,
} from '#edge/serve/notifications';
import { refusals } from '#edge/serve/refusals';
import { edgeMetrics, Reply, streamMetrics } from '#edge/serve/reply';
import { EventLoopQueue, endpointRoute, gate } from '#edge/serve/request-checks';
import { type ServePorts, serve } from '#edge/serve/serve';
import { AccountWebhooks } from '#edge/serve/webhooks';
import type { EngineClient } from '#grpc/engine-messages';
import type { LimiterClient } from '#grpc/limiter-messages';
import type { Clock } from '#stdlib/clock';
import type { Reloadable } from '#stdlib/files';
import type { Randomness } from '#stdlib/randomness';
import type { Running } from '#stdlib/run';
import { SecretSeal } from '#stdlib/secret-seal';
import type { Logger } from '#telemetry/logger';
import type { Metrics } from '#telemetry/metrics';
import { type Tracer, traceFields } from '#telemetry/tracer';
import { SECRET_SEAL_LABEL } from '#webhooks/signature';

/** Dependencies for the REST application. */
export type EdgePorts = {
  readonly engine: EngineClient;
  readonly limiter: LimiterClient;
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly metrics: Metrics;
  readonly logger: Logger;
  /** Announcements of account changes. Undefined: none, so refusals are not cached. */
  readonly accountNews?: AccountNews | undefined;
  /** Tracer of the process. Undefined if tracing is off. */
  readonly tracer?: Tracer | undefined;
};

/** Settings for the REST application. */
export type AppConfig = {
  /**
   * Secrets shared by all edges. The first secret derives the ids of keyed creates. While secrets
   * change, a second secret is tried as well (decision 134).
   */
  readonly clusterSecrets: Reloadable<readonly string[]>;
  /** CIDRs whose `X-Forwarded-For` header is trusted. */
  readonly trustedProxies: readonly string[];
  /**
   * Maximum time that a closing edge serves calls while load balancers move away, in milliseconds.
   */
  readonly drainMs: number;
  /** Whether webhooks may go to internal networks of the operator. Absent: false. */
  readonly areWebhooksInternal?: boolean;
};

/**
 * Builds the REST application without a listener. Its `close` first answers all running requests.
 */
export function buildApp(config: AppConfig, ports: EdgePorts): FastifyInstance {
  const { clock, logger } = ports;
  const metrics = edgeMetrics(ports.metrics);
  const limits = connectionLimits(clock, metrics, logger);
  const { pipelines, bodies, unread } = limits;
  const reply = new Reply(clock, metrics, logger, unread);
  const limited = new LimitedKeys(clock, ports.accountNews);
  const admission = new Admission(ports.limiter, clock, metrics, limited, limits.warnings);
  const engine = new EngineCalls(ports.engine, clock, ports.randomness, config.clusterSecrets);
  const billing = new AccountBilling(ports.limiter);
  const inFlight = { calls: 0 };
  const callIds = new CallIds(config.clusterSecrets);
  const served: ServePorts & NotificationPorts & ServeFleetPorts = {
    ...{ prefix: API_PREFIX, admission, engine, callIds, clock, reply, inFlight },
    fleet: new FleetCalls({ engine, callIds, clock, counted: metrics.fleetCounted }),
    streams: streamsOf(ports),
    notifications: new Notifications(billing, clock, limits.warnings.barredNotifications),
    account: {
      ...{ clock, billing, audit: new AccountAudit(ports.limiter) },
      webhooks: new AccountWebhooks({
        ...{ engine: ports.engine, callIds, clock, randomness: ports.randomness },
        seal: new SecretSeal(config.clusterSecrets, SECRET_SEAL_LABEL),
        isInternalAllowed: config.areWebhooksInternal === true,
      }),
    },
  };
  const broken = brokenHttp(clock, pipelines);
  const app = Fastify({
    ...HTTP_LIMITS,
    trustProxy: config.trustedProxies.length === 0 ? false : [...config.trustedProxies],
    clientErrorHandler: broken.clientErrorHandler,
    frameworkErrors: broken.frameworkErrors,
  });
  broken.watch(app.server);
  unread.watch(app.server);
  const drain = drainOf(app.server);
  const closing = new AbortController();
  app.decorateRequest('exchange', undefined);
  app.addHook(
    'onRequest',
    gate({ ...served, pipelines, closing: closing.signal, tracer: ports.tracer }),
  );
  ports.metrics.beforeScrape(() => {
    metrics.active(reply.activeRequests);
    metrics.inflight(inFlight.calls);
    limits.measure();
  });
  app.addHook('preClose', async () => {
    // End the event streams first, so that their clients reconnect to another edge.
    served.streams.drain();
    // From now on, Fastify closes each connection after its next answer.
    await drain.sendAway(config.drainMs);
    closing.abort();
    drain.end();
  });
  app.addHook('onClose', async () => limited[Symbol.dispose]());
  refuseUnserved(app, served, logger);
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', (request, payload, done) =>
    bodies.read(request, payload, done),
  );
  const queue = new EventLoopQueue();
  for (const endpoint of ENDPOINTS) {
    const serveIt = serverOf(endpoint);
    app.route(endpointRoute(endpoint, (...asked) => serveIt(...asked, served), queue, served));
  }
  return app;
}

/** The function that serves an endpoint. */
function serverOf({ handler: { kind } }: Endpoint) {
  if (kind === 'notification') return serveNotification;
  return kind === 'fleet' ? serveFleet : serve;
}

/** Registers the answers to errors and to unknown paths. */
function refuseUnserved(app: FastifyInstance, served: ServePorts, logger: Logger): void {
  const refuse = refusals({
    ...served,
    onBug: (err, traceparent) => logger.error({ err, ...traceFields(traceparent) }, 'bug'),
  });
  app.setErrorHandler(refuse.error);
  app.setNotFoundHandler(refuse.notFound);
}

/** An edge's event streams, with their metrics. */
function streamsOf({ clock, accountNews, metrics }: EdgePorts): EventStreams {
  const reported = streamMetrics(metrics);
  const onEnd = reported.ended;
  const streams = new EventStreams({ clock, random: Math.random, accountNews, onEnd });
  metrics.beforeScrape(() => reported.open(streams.open));
  return streams;
}

/** Settings for an edge with a listener. */
export type EdgeConfig = AppConfig & {
  readonly host: string;
  /** 0 picks a free port. */
  readonly port: number;
  readonly isDocumented: boolean;
};

/** Starts an edge with a listener. The returned address has no path; the API is under `/v1`. */
export async function composeEdge(config: EdgeConfig, ports: EdgePorts): Promise<Running> {
  await using opening = new AsyncDisposableStack();
  const app = opening.adopt(buildApp(config, ports), (open) => open.close());
  if (config.isDocumented) await app.register(documentRoutes);
  const address = await app.listen({ host: config.host, port: config.port });
  const opened = opening.move();
  return { address, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}
