import * as grpc from '@grpc/grpc-js';
import {
  KEEPALIVE_TIME_MS,
  KEEPALIVE_TIMEOUT_MS,
  REPLY_FRAME_BYTES_MAX,
  REQUEST_FRAME_BYTES_MAX,
  STOP_GRACE_MS,
  STREAMS_PER_CONNECTION_MAX,
} from '#grpc/call-bounds';
import {
  type HealthCheckRequest,
  type HealthServer,
  HealthService,
  HealthCheckResponse_ServingStatus as ServingStatus,
} from '#grpc/gen/grpc/health/v1/health';
import { CALLERS, rolesOfCall, serverCredentials, type WireTls } from '#grpc/tls';
import type { Reloadable } from '#stdlib/files';
import type { Running } from '#stdlib/run';

/** Called for a refused call, with the method's path and the roles of the caller. */
export type OnRefused = (path: string, roles: readonly string[]) => void;

/** Options of a gRPC server. */
type ServeGrpcOptions = {
  /** `host:port`; port 0 chooses a free port. */
  readonly listen: string;
  readonly services: readonly WireService[];
  /** Plain text if undefined. */
  readonly tls?: Reloadable<WireTls> | undefined;
  /** Called for calls that the caller's role may not make. Callers have roles only with `tls`. */
  readonly onRefused?: OnRefused;
  /** Maximum time that stopping waits for calls in flight, in milliseconds. */
  readonly stopGraceMs?: number;
};

// The caller reports errors; gRPC would print them a second time.
grpc.setLogVerbosity(grpc.logVerbosity.NONE);

const SERVER = {
  // Without channelz, a forced stop does not destroy the server's connections (seen in grpc-js
  // 1.14.7).
  'grpc.enable_channelz': 1,
  'grpc.max_receive_message_length': REQUEST_FRAME_BYTES_MAX,
  'grpc.max_send_message_length': REPLY_FRAME_BYTES_MAX,
  'grpc.max_concurrent_streams': STREAMS_PER_CONNECTION_MAX,
  // Closes the connection of a client that sends nothing after connecting. Before a TLS handshake,
  // Node closes it after 120 s.
  'grpc.keepalive_time_ms': KEEPALIVE_TIME_MS,
  'grpc.keepalive_timeout_ms': KEEPALIVE_TIMEOUT_MS,
} satisfies grpc.ServerOptions;

/**
 * Starts a gRPC server with the standard health service. Disposing reports NOT_SERVING, closes the
 * port, waits up to `stopGraceMs` for calls in flight, then cuts the remaining connections.
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

/** Arguments of a gRPC handler; only unary handlers get `respond`. */
type Call = { getAuthContext(): { sslPeerCertificate?: { raw: Buffer } } };
type Respond = (error: { readonly code: number; readonly details: string }) => void;
type Handler = (call: Call & NodeJS.EventEmitter, respond?: Respond) => void;

/**
 * Restricts `service` to the roles in `CALLERS`, by the certificate of the connection. Other
 * callers get PERMISSION_DENIED before the handler runs. A stream is checked only when it begins.
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

/**
 * Standard gRPC health service. Every service name, and the empty name for the whole server, is
 * SERVING until `drain`.
 */
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

/** Service of a gRPC server. */
export type WireService = {
  /** Full name of the service, as in the health protocol. */
  readonly name: string;
  readonly definition: grpc.ServiceDefinition;
  readonly implementation: grpc.UntypedServiceImplementation;
  /** Refuses new calls from now on, and ends streams when their calls in flight are answered. */
  drain(): void;
};
