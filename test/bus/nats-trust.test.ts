import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import * as assert from 'uvu/assert';
import { type NatsBusOptions, openNatsBus } from '#bus/nats-bus';
import { startNats } from '#deploy/local/nats-server';
import { systemClock } from '#platform/clock';
import { delivered } from '#test/bus/bus-contract';
import { natsOrSkip } from '#test/support/real-servers';
import { clientOf } from '#test/support/server-certificates';

const { address: plain, suite } = natsOrSkip();

const STORE = resolve('test/wire/certificates/store');

/** The driver checks the names of servers, never their addresses. Offers TLS beside plain text, which the start of a server is asked in, and asks who calls. */
const ENCRYPTED = `
  tls {
    cert_file: "${STORE}/tls.crt", key_file: "${STORE}/tls.key", ca_file: "${STORE}/ca.crt"
    verify: true
  }
  allow_non_tls: true`;

/** Lets nobody speak but `agent`, and the start of a server, which has no name. */
const NAMED = `
  accounts { US { users: [{ user: agent, password: "right one" }] }, NOBODY { users: [{ user: none }] } }
  no_auth_user: none`;

async function withServer(settings: string, use: (address: string) => Promise<void>) {
  const folder = mkdtempSync(join(tmpdir(), 'nats-trust-'));
  const configFile = join(folder, 'nats.conf');
  writeFileSync(configFile, settings);
  const server = await startNats({ folder: join(folder, 'state'), logFolder: folder, configFile });
  try {
    await use(server.address.replace('127.0.0.1', 'localhost'));
  } finally {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function speak(server: string, options: Partial<NatsBusOptions>): Promise<void> {
  const onBug = (bug: unknown) => assert.unreachable(String(bug));
  const common = { name: 'test', clock: systemClock, onBug, connectTimeoutMs: 700 };
  await using bus = await openNatsBus({ servers: [server], ...common, ...options });
  await delivered(bus);
}

async function assertRefused(pending: Promise<void>, why: RegExp): Promise<void> {
  const message = await pending.then(
    () => 'nothing was refused',
    (error: Error) => error.message,
  );
  assert.match(message, /^no NATS server at /);
  assert.match(message, why);
}

const member = clientOf('member');
const trust = suite('NATS with certificates');

trust('is spoken to if both are of our authority', async () => {
  await withServer(ENCRYPTED, (server) => speak(server, { tls: member }));
});

trust('is not if one of them is not, or if the client shows none', async () => {
  await withServer(ENCRYPTED, async (server) => {
    const stranger = clientOf('stranger');
    await assertRefused(speak(server, { tls: { ...stranger, own: member.own } }), /certificate/);
    await assertRefused(speak(server, { tls: { ...member, own: stranger.own } }), /./);
    await assertRefused(speak(server, { tls: { ...member, own: undefined } }), /./);
  });
});

trust('is not if it offers none', async () => {
  await assertRefused(speak(plain, { tls: member }), /tls/);
});

const users = suite('NATS that asks for user and password');

users('is spoken to with the right ones, and with no others', async () => {
  await withServer(NAMED, async (server) => {
    await speak(server, { credentials: { username: 'agent', password: 'right one' } });
    const wrong = { username: 'agent', password: 'wrong one' };
    await assertRefused(speak(server, { credentials: wrong }), /[Aa]uthorization/);
  });
});

for (const each of [trust, users]) each.run();
