import { auth, type ClientOptions } from 'cassandra-driver';
import { type ClientTls, tlsOptionsOf } from '#platform/client-tls';
import type { Reloadable } from '#platform/reloadable';

/** Encryption, and the DNS name in the certificates of all servers; their addresses without one. */
export type SessionTls = {
  readonly client: Reloadable<ClientTls>;
  readonly serverName: string | undefined;
};

/** Who calls, for a server that asks. */
export type UserAndPassword = { readonly username: string; readonly password: string };

/** Options of the driver, which keeps this object and reads its fields whenever it connects. */
export function sslOptions({ client, serverName }: SessionTls) {
  const named = serverName === undefined ? {} : { servername: serverName };
  return Object.assign(tlsOptionsOf(client), named) as NonNullable<ClientOptions['sslOptions']>;
}

/** Shows user and password as they are when a connection is made. */
export function currentPassword(credentials: Reloadable<UserAndPassword>): auth.AuthProvider {
  return new CurrentPassword(credentials);
}

class CurrentPassword extends auth.PlainTextAuthProvider {
  readonly #credentials: Reloadable<UserAndPassword>;

  constructor(credentials: Reloadable<UserAndPassword>) {
    super('', '');
    this.#credentials = credentials;
  }

  override newAuthenticator(endpoint: string, name: string): auth.Authenticator {
    const { username, password } = this.#credentials.current;
    return new auth.PlainTextAuthProvider(username, password).newAuthenticator(endpoint, name);
  }
}
