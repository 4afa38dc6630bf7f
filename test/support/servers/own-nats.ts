import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { freePort } from '#deploy/local/servers/free-port';
import type { LocalServer } from '#deploy/local/servers/local-server';
import { startNats } from '#deploy/local/servers/nats-server';

const STORE = resolve('test/grpc/certificates/store');

/**
 * Settings with TLS from the first byte, the certificate of `store`, and required client
 * certificates. Clients that wait for the server's greeting, such as the start check, use plain
 * text.
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

/** User and password in `NAMED`. */
export const AGENT = { username: 'agent', password: 'right one' };

/** Settings that permit `AGENT`. A service's start check is anonymous and is refused. */
export const NAMED = `
  accounts {
    US: { users: [{ user: "${AGENT.username}", password: "${AGENT.password}" }] }
    ANONYMOUS: { users: [{ user: none }] }
  }
  no_auth_user: none
`;

/** A NATS server for one test, with the same port after a restart. */
export type OwnNats = AsyncDisposable & {
  readonly address: string;
  /** Reloads settings at run time. */
  readonly reload: (settings: string) => void;
  readonly restart: Pick<LocalServer, 'stop' | 'signal'> & { start(): Promise<void> };
};

/** Starts a NATS server for this test with further settings. */
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
