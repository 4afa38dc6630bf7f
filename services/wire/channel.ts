import { strict as assert } from 'node:assert';
import type { Socket } from 'node:net';
import * as grpc from '@grpc/grpc-js';
import type { FaultCode } from '#fault/error-codes';
import { type Clock, systemClock } from '#platform/clock';
import type { Dependency } from '#platform/dependency';
import type { Reloadable } from '#platform/files';
import { isHostPort } from '#platform/network';
import type { Tracer } from '#platform/tracer';
import { CLIENT_CALLS_IN_FLIGHT_MAX, KEEPALIVE_TIME_MS, KEEPALIVE_TIMEOUT_MS } from '#wire/bounds';
import { clientCredentials, TLS_NAME, type WireRole, type WireTls } from '#wire/tls';

/** A client with a channel of its own: no connection, failure or retry of gRPC's outlives it. */
export type OwnChannel = {
  readonly client: grpc.Client;
  /** Cuts every connection that the client has made. */
  readonly cut: () => void;
};

const CHANNEL = {
  'grpc.use_local_subchannel_pool': 1,
  'grpc.enable_retries': 0,
  'grpc.enable_channelz': 0,
  'grpc.enable_http_proxy': 0,
  'grpc.service_config_disable_resolution': 1,
  'grpc.ssl_target_name_override': TLS_NAME,
} satisfies grpc.ClientOptions;

/**
 * A client for `address` (`host:port`), with credentials that must be its own. Closing a client of
 * gRPC (1.14.7) leaves a connection open for ever whose peer has accepted it and then says nothing,
 * as a stopped process does: it waits for its settings. `cut` ends that one, too.
 */
export function ownChannel(
  address: string,
  credentials: grpc.ChannelCredentials,
  options: grpc.ClientOptions = {},
): OwnChannel {
  const sockets = new Set<Socket>();
  const createConnector = credentials._createSecureConnector.bind(credentials);
  credentials._createSecureConnector = (...args) => {
    const connector = createConnector(...args);
    const connect = connector.connect.bind(connector);
    connector.connect = (socket) => {
      sockets.add(socket);
      socket.once('close', () => sockets.delete(socket));
      return connect(socket);
    };
    return connector;
  };
  return {
    client: new grpc.Client(dialTargetOf(address), credentials, { ...CHANNEL, ...options }),
    cut() {
      for (const socket of sockets) socket.destroy();
    },
  };
}

/**
 * What gRPC connects to for `address` (`host:port`). With the scheme named, no host can be
 * taken for one: `unix:8100` alone would be a socket's path. Throws for anything but `host:port`,
 * which is refused where an address comes in.
 */
export function dialTargetOf(address: string): string {
  assert(isHostPort(address), 'an address to connect to is host:port');
  return `dns:${address}`;
}

/** Where a peer is, and what speaking to it takes from outside. */
export type PeerOptions = {
  /** `host:port`. */
  readonly address: string;
  readonly clock?: Clock;
  /** Uniform in [0, 1), for the jitter of reconnects. */
  readonly random?: () => number;
  /** How long an answer may take, in milliseconds; as the service's protocol says unless given. */
  readonly timeoutMs?: number;
  /** Calls without an answer; beyond it they are refused as `overloaded`. */
  readonly callsInFlightMax?: number;
  /** Absent: plain text. */
  readonly tls?: Reloadable<WireTls> | undefined;
  /** Silence after which the peer is pinged, and how long it may take to answer, in milliseconds. */
  readonly keepalive?: { readonly timeMs: number; readonly timeoutMs: number };
  /**
   * Hears of every call's end, with its duration in seconds and its span. On the hot path: must be
   * cheap.
   */
  readonly observeCall?: CallEnded;
  /** Reports outages of the peer. Disposed with the connection. */
  readonly dependency?: Dependency | undefined;
  readonly tracer?: Tracer | undefined;
};

/** Hears that a call has ended; `traceparent` is of its span, or absent. */
export type CallEnded = (
  seconds: number,
  outcome: 'ok' | FaultCode,
  traceparent?: string | undefined,
) => void;

/** The same with everything filled in, for a peer that speaks this protocol. */
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
