import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { startNats } from '#deploy/local/nats-server';

const STORE = resolve('test/wire/certificates/store');

/**
 * TLS from the first byte with the certificate of `store`, for whoever shows one of its authority;
 * and plain text for whoever waits for the server's word, as a start does.
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

/** Lets `AGENT` speak; whoever has no name, as a start has none, is heard by nobody. */
export const NAMED = `
  accounts {
    US: { users: [{ user: "${AGENT.username}", password: "${AGENT.password}" }] }
    NOBODY: { users: [{ user: none }] }
  }
  no_auth_user: none
`;

/** Starts a NATS server with these settings for as long as `use` takes. */
export async function withNats(
  settings: string,
  use: (address: string) => Promise<void>,
): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'nats-trust-'));
  const configFile = join(folder, 'nats.conf');
  writeFileSync(configFile, settings);
  const server = await startNats({ folder: join(folder, 'state'), logFolder: folder, configFile });
  try {
    await use(server.address);
  } finally {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}
