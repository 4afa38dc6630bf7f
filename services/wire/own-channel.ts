import { strict as assert } from 'node:assert';
import type { Socket } from 'node:net';
import * as grpc from '@grpc/grpc-js';
import { isHostPort } from '#platform/host-port';
import { TLS_NAME } from '#wire/wire-tls';

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
