import { once } from 'node:events';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { createServer, type TLSSocket } from 'node:tls';
import { type auth, Client, type ClientOptions, types } from 'cassandra-driver';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { currentPassword, sslOptions } from '#storage/cassandra/driver';
import { clientOf, pemOf } from '#test/support/servers/server-certificates';
import { settable } from '#test/support/settable';

/** Connection class that the driver's pools use. The package does not export the class. */
type Connection = { open(callback: (error: unknown) => void): void; close(): void };
type ConnectionClass = new (endpoint: string, version: number, options: object) => Connection;
const Connection: ConnectionClass = createRequire(import.meta.url)(
  'cassandra-driver/lib/connection.js',
);

/** Options that the driver passes to its connections. */
function optionsOf(given: Partial<ClientOptions>): object {
  const place = { contactPoints: ['127.0.0.1'], localDataCenter: 'd' };
  // A closed connection never answers, so the timeout is short. 0 disables the heartbeat.
  const brief = { socketOptions: { readTimeout: 100 }, pooling: { heartBeatInterval: 0 } };
  const client = new Client({ ...place, ...brief, ...given });
  return (client as unknown as { options: object }).options;
}

/** A server that closes each connection after its handshake, and records the caller's identity. */
async function listening() {
  const callers: string[] = [];
  const pem = { cert: pemOf('store', 'tls.crt'), key: pemOf('store', 'tls.key') };
  const server = createServer({ ...pem, requestCert: true, rejectUnauthorized: false });
  server.on('secureConnection', (socket: TLSSocket) => {
    callers.push(String(socket.getPeerCertificate().subject?.CN ?? 'none'));
    socket.on('error', () => undefined).destroy();
  });
  server.on('tlsClientError', () => undefined);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return { address: `127.0.0.1:${port}`, callers, server };
}

/** Error of a connection attempt. The attempt always fails, because the server is not Cassandra. */
async function failureAt(address: string, options: object): Promise<string> {
  const connection = new Connection(address, types.protocolVersion.v4, options);
  const { promise, resolve } = Promise.withResolvers<unknown>();
  connection.open(resolve);
  const error = await promise;
  connection.close();
  return String(error);
}

const connecting = suite('a connection of the Cassandra driver');

connecting('uses the certificates that are current when it is created', async () => {
  const { address, callers, server } = await listening();
  const client = settable(clientOf('member'));
  const options = optionsOf({ sslOptions: sslOptions({ client, serverName: undefined }) });
  await failureAt(address, options);
  client.set(clientOf('edge'));
  await failureAt(address, options);
  assert.equal(callers, ['member', 'edge']);
  client.set(clientOf('stranger'));
  assert.match(await failureAt(address, options), /unable to (verify|get)/);
  client.set(clientOf('member'));
  await failureAt(address, options);
  assert.is(callers.at(-1), 'member');
  server.close();
});

connecting('uses the password that is current when it is created', () => {
  const credentials = settable({ username: 'engine', password: 'first' });
  const { authProvider } = optionsOf({ authProvider: currentPassword(credentials) }) as {
    authProvider: auth.AuthProvider;
  };
  const shown = (): string => {
    let token = '';
    const authenticator = authProvider.newAuthenticator('127.0.0.1:9042', 'any');
    authenticator.initialResponse((_: unknown, bytes: Buffer) => {
      token = bytes.toString().replaceAll('\0', '/');
    });
    return token;
  };
  assert.is(shown(), '/engine/first');
  credentials.set({ username: 'engine', password: 'next' });
  assert.is(shown(), '/engine/next');
});

connecting.run();
