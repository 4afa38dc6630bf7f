import type { AddressInfo } from 'node:net';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import Fastify from 'fastify';
import { addPages, type BuiltPages, readBuiltPages } from '#console/app/pages';
import type { ConsoleConfig, ConsolePorts } from '#console/app/ports';
import {
  ActiveRequests,
  faultOfFramework,
  nothingHere,
  refusalOf,
  refuseBytes,
  safetyHeaders,
} from '#console/app/refusal';
import type { ConsoleRoute } from '#console/app/route';
import {
  type Answer,
  assertOwnRequest,
  CLIENT_LENGTH_MAX,
  type Cookies,
  cookiesOf,
  loopbackOrigins,
  type Visit,
} from '#console/app/visit';
import { DemoFleets } from '#console/demo/fleet';
import { ConsoleAudit } from '#console/people/audit';
import { enterBy } from '#console/people/entry';
import { LiveSessions } from '#console/people/live-sessions';
import { Passwords } from '#console/people/passwords';
import { SecondFactors } from '#console/people/second-factors';
import { SignIn } from '#console/people/sign-in';
import { FailureTrail } from '#console/people/sign-in-throttle';
import { auditRoutes } from '#console/routes/audit';
import { credentialRoutes } from '#console/routes/credentials';
import { demoRoutes } from '#console/routes/demo';
import { setUpRoutes, signInRoutes } from '#console/routes/entering';
import { addInstanceRoutes } from '#console/routes/instances';
import { keyRoutes } from '#console/routes/keys';
import { ownRoutes } from '#console/routes/me';
import { memberRoutes } from '#console/routes/members';
import { billingRoutes } from '#console/routes/money';
import { instanceUsageRoutes, usageRoutes } from '#console/routes/usage';
import { startRoutes } from '#console/start/first-steps';
import { BODY_BYTES_MAX, exchangeOf, HTTP_LIMITS, requestIdFrom } from '#edge/http';
import { AccountBilling } from '#edge/serve/account';
import { parseJsonBody } from '#edge/serve/json';
import { type Fault, toFault } from '#errors/fault';
import type { Running } from '#stdlib/run';
import { FailureLog } from '#telemetry/log-limits';

/** Path prefix of the API routes. */
const PREFIX = '/api';

/** Maximum open connections. Further connections are closed. */
const CONNECTIONS_MAX = 2_000;

/** The console's web application, built but not listening. */
type ConsoleApp = {
  readonly app: FastifyInstance;
  /** Sets the origins that the console serves. Links use the first origin. */
  readonly reachedAt: (origins: readonly string[]) => void;
};

/**
 * Builds the console's web application. It serves the pages, and under `/api` the JSON routes that
 * only the pages use: sessions, members, credentials and the account's instances. Until `reachedAt`
 * is called, the application serves only the configured origin, or no origin if none is configured.
 * Source: decisions 245, 251 and 253.
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
    // `Reply` records the metric for answers of endpoints. `refuse` records early refusals.
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
      // Pages refresh figures by themselves. Such requests do not extend the session.
      const isUnattended = request.headers['x-unattended'] !== undefined;
      const asked = { body: request.body, params, query, visit, isUnattended };
      if (isOpen || visit.shown.session === undefined) live.rates.countOpen(visit);
      // A request for a file holds its slot until the file is sent or the stream is aborted.
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

/**
 * Returns the visit of a request. Builds each visit only once, so that its request id never
 * changes.
 */
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

/** Sends a refusal. The cause of a 5xx appears only in the log. */
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

/** Listen address of a console. Port 0 picks a free port. */
type ConsoleListen = { readonly host: string; readonly port: number };

/** A listening console. */
type RunningConsole = Running & {
  /** Origin for browsers: the public origin, or a loopback address. */
  readonly origin: string;
};

/** Opens a console. Without a public origin, the console is reachable on this machine only. */
export async function composeConsole(
  listen: ConsoleListen,
  config: ConsoleConfig,
  ports: ConsolePorts,
): Promise<RunningConsole> {
  await using opening = new AsyncDisposableStack();
  const { app, reachedAt } = buildConsole(config, ports, await readBuiltPages('console'));
  opening.defer(() => app.close());
  const address = await app.listen({ ...listen });
  const { port } = app.server.address() as AddressInfo;
  const origins =
    config.origin === undefined ? loopbackOrigins(listen.host, port) : [config.origin];
  reachedAt(origins);
  const opened = opening.move();
  const origin = origins[0] ?? address;
  return { address, origin, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}

/** Application objects that routes use. */
type Setting = {
  readonly cookies: Cookies;
  readonly origin: () => string;
  readonly live: LiveSessions;
};

/** Builds all routes of the console. Each route gets only the ports that it needs. */
export function consoleRoutes(
  config: ConsoleConfig,
  ports: ConsolePorts,
  { cookies, origin, live }: Setting,
): ConsoleRoute[] {
  const { secrets, localAccountId, api } = config;
  const { users, members, accounts, clock, randomness, keys, usage } = ports;
  const audit = new ConsoleAudit(ports.trail);
  const passwords = new Passwords();
  const secondFactors = new SecondFactors({ clock, randomness }, secrets);
  const trail = new FailureTrail({ ...ports, audit });
  const signIn = new SignIn({
    ...{ users, members, clock, randomness, metrics: ports.metrics },
    ...{ audit, live, passwords, secondFactors, cookies, trail },
  });
  const entry = { users, members, clock, randomness, audit, passwords, signIn };
  return [
    ...setUpRoutes({
      ...{ users, members, accounts, clock, live, audit, cookies, localAccountId },
      enter: (link, entrant, visit) => enterBy(entry, link, entrant, visit),
    }),
    ...signInRoutes({ signIn, live, audit, cookies, localAccountId }),
    ...ownRoutes({ accounts, members, live, audit, cookies, api }),
    ...credentialRoutes({ users, live, audit, cookies, passwords, secondFactors, signIn }),
    ...keyRoutes({ keys, clock, members, users, live, audit }),
    ...auditRoutes({ live, audit, trail: ports.trail, users, accounts, clock }),
    ...billingRoutes({ live, billing: new AccountBilling(ports.limiter), origin }),
    ...usageRoutes({ live, usage, accounts, clock }),
    ...demoRoutes({ live, audit, fleets: new DemoFleets(ports, config) }),
    ...startRoutes({ live, accounts, keys, clock, engine: ports.engine }),
    ...instanceUsageRoutes({ live, usage, clock, engine: ports.engine }),
    ...memberRoutes({ users, members, keys, clock, randomness, live, audit, origin }),
  ];
}
