import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { freePort } from '#deploy/local/free-port';
import type { LocalServer } from '#deploy/local/local-server';
import { startNats } from '#deploy/local/nats-server';

const STORE = resolve('test/grpc/certificates/store');

/**
 * TLS from the first byte with the certificate of `store`, for clients that show one of its authority;
 * and plain text for clients that wait for the server's word, as a start does.
 */
export const ENCRYPTED = `
  tls {
    cert_file: "${STORE}/tls.crt"
    key_file: "${STORE}/tls.key"
    ca_file: "${STORE}/ca.crt"
    verify: true
    handshake_first: auto
  }
  allow_non_tls: true
`;

/** The user and password of `NAMED`. */
export const AGENT = { username: 'agent', password: 'right one' };

/** Lets `AGENT` speak; a client without a name, as a start has none, reaches no other. */
export const NAMED = `
  accounts {
    US: { users: [{ user: "${AGENT.username}", password: "${AGENT.password}" }] }
    ANONYMOUS: { users: [{ user: none }] }
  }
  no_auth_user: none
`;

/** A server of one test alone, which has its port again after a restart. */
export type OwnNats = AsyncDisposable & {
  readonly address: string;
  /** Gives it other settings, which it takes without ending. */
  readonly reload: (settings: string) => void;
  readonly restart: Pick<LocalServer, 'stop' | 'signal'> & { start(): Promise<void> };
};

/** Starts a NATS server of this test's own, with these further settings. */
export async function ownNats(settings = ''): Promise<OwnNats> {
  const folder = mkdtempSync(join(tmpdir(), 'own-nats-'));
  const configFile = join(folder, 'nats.conf');
  writeFileSync(configFile, settings);
  const place = { folder: join(folder, 'state'), logFolder: folder, port: await freePort() };
  const start = () => startNats({ ...place, configFile });
  let server = await start();
  const restart = {
    stop: () => server.stop(),
    signal: (signal: NodeJS.Signals) => server.signal(signal),
    start: async () => {
      server = await start();
    },
  };
  return {
    address: server.address,
    reload(changed) {
      writeFileSync(configFile, changed);
      server.signal('SIGHUP');
    },
    restart,
    async [Symbol.asyncDispose]() {
      await server.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
