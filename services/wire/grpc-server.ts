import * as grpc from '@grpc/grpc-js';
import type { Reloadable } from '#platform/files';
import type { Running } from '#platform/run';
import {
  KEEPALIVE_TIME_MS,
  KEEPALIVE_TIMEOUT_MS,
  REPLY_FRAME_BYTES_MAX,
  REQUEST_FRAME_BYTES_MAX,
  STOP_GRACE_MS,
  STREAMS_PER_CONNECTION_MAX,
} from '#wire/bounds';
import {
  type HealthCheckRequest,
  type HealthServer,
  HealthService,
  HealthCheckResponse_ServingStatus as ServingStatus,
} from '#wire/gen/grpc/health/v1/health';
import { CALLERS, rolesOfCall, serverCredentials, type WireTls } from '#wire/tls';

/** Hears of a call that was refused: the method's path, and the roles of its caller. */
export type OnRefused = (path: string, roles: readonly string[]) => void;

/** Where to listen, and with what. */
type ServeGrpcOptions = {
  /** `host:port`; port 0 takes a free one. */
  readonly listen: string;
  readonly services: readonly WireService[];
  /** Absent: plain text. */
  readonly tls?: Reloadable<WireTls> | undefined;
  /** Hears of calls by a role that may not make them; only with `tls` have callers one. */
  readonly onRefused?: OnRefused;
  /** How long stopping waits for calls in flight, in milliseconds. */
  readonly stopGraceMs?: number;
};

// What goes wrong is reported by the caller, once; gRPC would print it as well.
grpc.setLogVerbosity(grpc.logVerbosity.NONE);

const SERVER = {
  // Off, a forced stop forgets the connections it should destroy (seen in grpc-js 1.14.7).
  'grpc.enable_channelz': 1,
  'grpc.max_receive_message_length': REQUEST_FRAME_BYTES_MAX,
  'grpc.max_send_message_length': REPLY_FRAME_BYTES_MAX,
  'grpc.max_concurrent_streams': STREAMS_PER_CONNECTION_MAX,
  // Closes the connection of a client that connects and then sends nothing; before a TLS handshake
  // Node does, after 120 s.
  'grpc.keepalive_time_ms': KEEPALIVE_TIME_MS,
  'grpc.keepalive_timeout_ms': KEEPALIVE_TIMEOUT_MS,
} satisfies grpc.ServerOptions;

/**
 * A gRPC server with the standard health service. Disposing reports NOT_SERVING, closes the port,
 * answers what is in flight for at most `stopGraceMs`, then cuts what is left.
 */
export async function serveGrpc(options: ServeGrpcOptions): Promise<Running> {
  const { listen, services, tls, stopGraceMs = STOP_GRACE_MS } = options;
  const { onRefused = () => undefined } = options;
  const health = healthService(services.map(({ name }) => name));
  const server = new grpc.Server(SERVER);
  for (const service of [...services, health]) {
    const served = tls === undefined ? service : guardedService(service, onRefused);
    server.addService(served.definition, served.implementation);
  }
  const credentials = serverCredentials(tls);
  const port = await bind(server, listen, credentials);
  let stopping: Promise<void> | undefined;
  return {
    address: `${listen.slice(0, listen.lastIndexOf(':'))}:${port}`,
    [Symbol.asyncDispose]() {
      for (const service of [...services, health]) service.drain();
      stopping ??= stop(server, stopGraceMs).finally(() => credentials[Symbol.dispose]?.());
      return stopping;
    },
  };
}

/** What every kind of handler gets, and what only one that answers once gets. */
type Call = { getAuthContext(): { sslPeerCertificate?: { raw: Buffer } } };
type Respond = (error: { readonly code: number; readonly details: string }) => void;
type Handler = (call: Call & NodeJS.EventEmitter, respond?: Respond) => void;

/**
 * `service` for those alone whom `CALLERS` lets call it, by the certificate that the connection was
 * opened with. Others get PERMISSION_DENIED before anything is done; a stream is looked at once,
 * when it begins.
 */
function guardedService(service: WireService, onRefused: OnRefused): WireService {
  const implementation: Record<string, Handler> = {};
  for (const [name, { path }] of Object.entries(service.definition)) {
    const handler = service.implementation[name] as unknown as Handler;
    implementation[name] = (call, respond) => {
      const roles = rolesOfCall(call) ?? [];
      if (roles.some((role) => CALLERS[path]?.includes(role))) {
        handler(call, respond);
        return;
      }
      onRefused(path, roles);
      const refusal = {
        code: grpc.status.PERMISSION_DENIED,
        details: `${path} is not for ${roles.join(', ') || 'a certificate without a role'}`,
      };
      if (respond === undefined) call.emit('error', refusal);
      else respond(refusal);
    };
  }
  return { ...service, implementation: implementation as never };
}

function bind(
  server: grpc.Server,
  listen: string,
  credentials: grpc.ServerCredentials,
): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  server.bindAsync(listen, credentials, (error, port) => {
    if (error === null) resolve(port);
    else reject(error);
  });
  return promise;
}

function stop(server: grpc.Server, stopGraceMs: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const cut = setTimeout(() => {
    server.forceShutdown();
    resolve();
  }, stopGraceMs);
  server.tryShutdown(() => {
    clearTimeout(cut);
    resolve();
  });
  return promise;
}

/** The standard gRPC health service: every name, and empty for the whole, is SERVING until `drain`. */
export function healthService(names: readonly string[]): WireService {
  const known = new Set(['', ...names]);
  const watchers = new Map<grpc.ServerWritableStream<HealthCheckRequest, unknown>, string>();
  let isServing = true;

  function statusOf(name: string) {
    if (!known.has(name)) return ServingStatus.SERVICE_UNKNOWN;
    return isServing ? ServingStatus.SERVING : ServingStatus.NOT_SERVING;
  }

  const implementation: HealthServer = {
    check({ request }, respond) {
      const status = statusOf(request.service);
      if (status === ServingStatus.SERVICE_UNKNOWN) {
        return respond({ code: grpc.status.NOT_FOUND, details: 'unknown service' });
      }
      respond(null, { status });
    },
    watch(call) {
      call.write({ status: statusOf(call.request.service) });
      watchers.set(call, call.request.service);
      call.on('cancelled', () => watchers.delete(call));
      call.on('close', () => watchers.delete(call));
    },
  };
  return {
    name: 'grpc.health.v1.Health',
    definition: HealthService,
    implementation,
    drain() {
      isServing = false;
      for (const [call, name] of watchers) {
        call.write({ status: statusOf(name) });
        call.end();
      }
      watchers.clear();
    },
  };
}

/** A service as a server takes it in. */
export type WireService = {
  /** Full name, as the health protocol names it. */
  readonly name: string;
  readonly definition: grpc.ServiceDefinition;
  readonly implementation: grpc.UntypedServiceImplementation;
  /** Takes no new calls from now on, and lets go of its streams when those in flight are answered. */
  drain(): void;
};
