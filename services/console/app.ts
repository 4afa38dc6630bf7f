import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { ActiveRequests } from '#console/active-requests';
import { consoleRoutes } from '#console/all-routes';
import type { Answer } from '#console/answer';
import type { BuiltPages } from '#console/built-pages';
import type { ConsoleConfig, ConsolePorts } from '#console/console-ports';
import { type Cookies, cookiesOf } from '#console/cookies';
import { addInstanceRoutes } from '#console/instance-routes';
import { LiveSessions } from '#console/live-sessions';
import { assertOwnRequest } from '#console/own-origin';
import { addPages } from '#console/page-routes';
import { faultOfFramework, nothingHere, refusalOf, refuseBytes } from '#console/refusal';
import type { ConsoleRoute } from '#console/route';
import { safetyHeaders } from '#console/safety-headers';
import { CLIENT_LENGTH_MAX, type Visit } from '#console/visit';
import { exchangeOf } from '#edge/exchange';
import { BODY_BYTES_MAX, HTTP_LIMITS } from '#edge/http-limits';
import { parseJsonBody } from '#edge/json-body';
import { requestIdFrom } from '#edge/request-id';
import { type Fault, toFault } from '#fault/fault';
import { FailureLog } from '#platform/failure-log';

/** Where the routes for pages begin. */
const PREFIX = '/api';

/** Connections at once; new ones beyond are closed. Chosen. */
const CONNECTIONS_MAX = 2_000;

/** The console's web application, built but not listening. */
type ConsoleApp = {
  readonly app: FastifyInstance;
  /** Names the origins at which it is reached, first the one that links lead to. */
  readonly reachedAt: (origins: readonly string[]) => void;
};

/**
 * The console: its pages, and for them alone sessions, members and credentials, and the account's
 * instances, as JSON under `/api`. It serves at the origins that it is given, until then at none but the
 * configured one. Source: decisions 245, 251 and 253.
 */
export function buildConsole(
  config: ConsoleConfig,
  ports: ConsolePorts,
  pages: BuiltPages | undefined,
): ConsoleApp {
  let origins: readonly string[] = config.origin === undefined ? [] : [config.origin];
  const isSecure = config.origin?.startsWith('https:') === true;
  const safety = safetyHeaders(isSecure);
  const cookies = cookiesOf(isSecure);
  const { trustedProxies } = config;
  const app = Fastify({
    ...HTTP_LIMITS,
    bodyLimit: BODY_BYTES_MAX,
    trustProxy: trustedProxies.length === 0 ? false : [...trustedProxies],
    clientErrorHandler: (error, socket) => refuseBytes(error, socket, safety),
    frameworkErrors: (_error, request, reply) => {
      refuse(ports, request, reply.headers(safety), nothingHere());
    },
  });
  app.server.maxConnections = CONNECTIONS_MAX;
  app.addHook('onRequest', async (request, reply) => {
    reply.headers(safety).header('x-request-id', visitOf(request, cookies).requestId);
    assertOwnRequest(request, origins);
  });
  app.addHook('onResponse', async (request, reply) => {
    // What an endpoint has answered is observed by its `Reply`, and what was refused before it below.
    if (exchangeOf(request) !== undefined) return;
    observe(ports, request.routeOptions.url ?? 'none', reply.statusCode, reply.elapsedTime / 1_000);
  });
  app.setErrorHandler((error: Error & { code?: string }, request, reply) =>
    refuse(ports, request, reply, faultOfFramework(error) ?? toFault(error)),
  );
  app.setNotFoundHandler((request, reply) => refuse(ports, request, reply, nothingHere()));
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(
    'application/json',
    { parseAs: 'buffer' },
    async (_request: FastifyRequest, bytes: Buffer) =>
      bytes.length === 0 ? undefined : parseJsonBody(bytes),
  );
  const active = new ActiveRequests();
  const live = new LiveSessions(ports);
  const origin = () => origins[0] ?? '';
  for (const route of consoleRoutes(config, ports, { cookies, origin, live })) {
    addRoute(app, route, { cookies, active, live });
  }
  addInstanceRoutes(app, config, ports, {
    ...{ prefix: PREFIX, live, safety, active },
    visitOf: (request) => visitOf(request, cookies),
    metrics: {
      answered: ({ path }, status, seconds) => observe(ports, `${PREFIX}${path}`, status, seconds),
    },
  });
  addPages(app, pages);
  return {
    app,
    reachedAt(own) {
      origins = own;
    },
  };
}

function addRoute(
  app: FastifyInstance,
  { method, path, isOpen, serve }: ConsoleRoute,
  { cookies, active, live }: { cookies: Cookies; active: ActiveRequests; live: LiveSessions },
): void {
  app.route({
    method,
    url: `${PREFIX}${path}`,
    async handler(request, reply) {
      const params = request.params as Record<string, string | undefined>;
      const visit = visitOf(request, cookies);
      const query = request.query as Record<string, unknown>;
      const asked = { body: request.body, params, query, visit };
      if (isOpen || visit.shown.session === undefined) live.rates.countOpen(visit);
      // A file has its slot until it is sent, or given up.
      const answer = await active.during(
        () => serve(asked),
        ({ file }) => file?.content,
      );
      return send(reply, answer);
    },
  });
}

function send(reply: FastifyReply, { status, data, pagination, file, cookies = [] }: Answer) {
  reply.code(status).header('set-cookie', [...cookies]);
  if (file !== undefined) {
    reply.header('content-disposition', `attachment; filename="${file.name}"`);
    return reply.type(file.type).send(file.content);
  }
  return data === undefined ? reply.send() : reply.send({ data, pagination });
}

const visits = new WeakMap<FastifyRequest, Visit>();

/** Made once for a request, so that its id is one. */
function visitOf(request: FastifyRequest, cookies: Cookies): Visit {
  const known = visits.get(request);
  if (known !== undefined) return known;
  const { headers, ip: address } = request;
  const visit = {
    requestId: requestIdFrom(headers['x-request-id']),
    address,
    client: (headers['user-agent'] ?? '').slice(0, CLIENT_LENGTH_MAX),
    shown: cookies.read(headers.cookie),
  };
  visits.set(request, visit);
  return visit;
}

/** Answers a refusal. The cause of a 5xx is in the log and nowhere else. */
function refuse(
  ports: ConsolePorts,
  request: FastifyRequest,
  reply: FastifyReply,
  fault: Fault,
): void {
  const requestId = visits.get(request)?.requestId ?? requestIdFrom(undefined);
  const { status, headers, body } = refusalOf(fault, requestId);
  if (exchangeOf(request) !== undefined) {
    const seconds = reply.elapsedTime / 1_000;
    observe(ports, request.routeOptions.url ?? 'none', status, seconds);
  }
  if (status >= 500) {
    const { method, routeOptions } = request;
    const line = { requestId, method, route: routeOptions.url, status };
    const failures = failureLogOf(ports);
    if (status === 500) failures.bug({ ...line, code: fault.code }, fault, fault.message);
    else failures.refused(line, fault);
  }
  void reply.code(status).headers(headers).send(body);
}

const failureLogs = new WeakMap<ConsolePorts, FailureLog>();

function failureLogOf(ports: ConsolePorts): FailureLog {
  const known = failureLogs.get(ports);
  if (known !== undefined) return known;
  const made = new FailureLog(ports.logger, ports.clock);
  failureLogs.set(ports, made);
  return made;
}

function observe({ metrics }: ConsolePorts, route: string, status: number, seconds: number): void {
  const labels = { http_route: route, http_response_status_code: String(status) };
  metrics.histogram('console_request_duration_seconds').labels(labels).observe(seconds);
}
