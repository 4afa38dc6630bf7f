import type { Socket } from 'node:net';
import type * as grpc from '@grpc/grpc-js';

/** Credentials of one client, and the connections that were made with them. */
export type OwnedSockets = Disposable & { readonly credentials: grpc.ChannelCredentials };

/**
 * Takes hold of every connection that a client makes with `credentials`, which must be its own, and
 * cuts them when disposed. Closing a client of gRPC (1.14.7) leaves a connection open for ever whose
 * peer has accepted it and then says nothing, as a stopped process does: it waits for its settings.
 */
export function ownSockets(credentials: grpc.ChannelCredentials): OwnedSockets {
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
    credentials,
    [Symbol.dispose]() {
      for (const socket of sockets) socket.destroy();
    },
  };
}
