/* gRPC connections of this process to other processes. */
import { strict as assert } from 'node:assert';
import type { Socket } from 'node:net';
import * as grpc from '@grpc/grpc-js';
import type { FaultCode } from '#errors/error-codes';
import {
  CLIENT_CALLS_IN_FLIGHT_MAX,
  KEEPALIVE_TIME_MS,
  KEEPALIVE_TIMEOUT_MS,
} from '#grpc/call-bounds';
import { clientCredentials, TLS_NAME, type WireRole, type WireTls } from '#grpc/tls';
import { type Clock, systemClock } from '#stdlib/clock';
import type { Reloadable } from '#stdlib/files';
import { isHostPort } from '#stdlib/network';
import type { Dependency } from '#telemetry/dependency';
import type { Tracer } from '#telemetry/tracer';

/** gRPC client with its own channel. Shares no connection or retry state with other clients. */
export type OwnChannel = {
  readonly client: grpc.Client;
  /** Newest connection; undefined before the first. */
  readonly socket: () => Socket | undefined;
  /** Whether a connection is open, and neither side has announced its end. */
  readonly isOpen: () => boolean;
  /** Destroys every connection of the client. */
  readonly cut: () => void;
};

const READY = grpc.connectivityState.READY;

const CHANNEL = {
  'grpc.use_local_subchannel_pool': 1,
  'grpc.enable_retries': 0,
  'grpc.enable_channelz': 0,
  'grpc.enable_http_proxy': 0,
  'grpc.service_config_disable_resolution': 1,
  'grpc.ssl_target_name_override': TLS_NAME,
} satisfies grpc.ClientOptions;

/**
 * Creates a client for `address` (`host:port`). `credentials` must not be used by another client.
 *
 * In gRPC (1.14.7), closing a client leaks a connection if the peer accepted it and then stays
 * silent, like a stopped process: the connection waits for HTTP/2 settings. `cut` destroys such a
 * connection too.
 */
export function ownChannel(
  address: string,
  credentials: grpc.ChannelCredentials,
  options: grpc.ClientOptions = {},
): OwnChannel {
  const sockets = new Set<Socket>();
  let newest: Socket | undefined;
  const createConnector = credentials._createSecureConnector.bind(credentials);
  credentials._createSecureConnector = (...args) => {
    const connector = createConnector(...args);
    const connect = connector.connect.bind(connector);
    connector.connect = (socket) => {
      sockets.add(socket);
      socket.once('close', () => sockets.delete(socket));
      return connect(socket).then((connected) => {
        newest = connected.socket;
        return connected;
      });
    };
    return connector;
  };
  const client = new grpc.Client(dialTargetOf(address), credentials, { ...CHANNEL, ...options });
  return {
    client,
    socket: () => newest,
    isOpen: () => client.getChannel().getConnectivityState(false) === READY,
    cut() {
      for (const socket of sockets) socket.destroy();
    },
  };
}

/**
 * gRPC target for `address` (`host:port`). The explicit scheme prevents a host from being read as a
 * scheme: `unix:8100` alone would be a socket path. Asserts that the address is `host:port`; other
 * addresses are refused at the input.
 */
export function dialTargetOf(address: string): string {
  assert(isHostPort(address), 'an address to connect to is host:port');
  return `dns:${address}`;
}

/** Options of a connection to a peer. */
export type PeerOptions = {
  /** `host:port`. */
  readonly address: string;
  readonly clock?: Clock;
  /** Returns uniform numbers in [0, 1), for the jitter of reconnects. */
  readonly random?: () => number;
  /** Timeout of an answer, in milliseconds. Default: the protocol's timeout. */
  readonly timeoutMs?: number;
  /** Maximum number of unanswered calls. Further calls are refused as `overloaded`. */
  readonly callsInFlightMax?: number;
  /** Plain text if undefined. */
  readonly tls?: Reloadable<WireTls> | undefined;
  /** Silence after which the peer is pinged, and timeout of the answer, in milliseconds. */
  readonly keepalive?: { readonly timeMs: number; readonly timeoutMs: number };
  /** Called at the end of every call. On the hot path: must be cheap. */
  readonly observeCall?: CallEnded;
  /** Reports outages of the peer. Disposed with the connection. */
  readonly dependency?: Dependency | undefined;
  readonly tracer?: Tracer | undefined;
};

/**
 * Called when a call has ended. `traceparent` belongs to the call's span and is undefined without a
 * span.
 */
export type CallEnded = (
  seconds: number,
  outcome: 'ok' | FaultCode,
  traceparent?: string | undefined,
) => void;

/** Fills the defaults into peer options, for a peer that speaks the given protocol. */
export function peerDefaults(
  options: PeerOptions,
  { role, timeoutMs, exchangePath }: { role: WireRole; timeoutMs: number; exchangePath: string },
) {
  return {
    address: options.address,
    path: exchangePath,
    timeoutMs: options.timeoutMs ?? timeoutMs,
    clock: options.clock ?? systemClock,
    random: options.random ?? Math.random,
    callsInFlightMax: options.callsInFlightMax ?? CLIENT_CALLS_IN_FLIGHT_MAX,
    newCredentials: () => clientCredentials(options.tls, [role]),
    keepalive: options.keepalive ?? { timeMs: KEEPALIVE_TIME_MS, timeoutMs: KEEPALIVE_TIMEOUT_MS },
    observeCall: options.observeCall,
    dependency: options.dependency,
    tracer: options.tracer,
  };
}
