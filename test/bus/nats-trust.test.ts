import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import * as assert from 'uvu/assert';
import { type NatsBusOptions, openNatsBus } from '#bus/nats-bus';
import { systemClock } from '#stdlib/clock';
import { unchanging } from '#stdlib/files';
import { delivered } from '#test/bus/bus-contract';
import { AGENT, ENCRYPTED, NAMED, ownNats } from '#test/support/servers/own-nats';
import { natsOrSkip } from '#test/support/servers/real-servers';
import { clientOf } from '#test/support/servers/server-certificates';
import { refusalOf } from '#test/support/settled';
import { SILENT } from '#test/support/test-logger';

const { address: plain, suite } = natsOrSkip();

/** INFO line that offers TLS without requiring it. A careless client continues in plain text. */
const BEGUILING = 'INFO {"server_id":"x","version":"2.15.0","proto":1,"tls_available":1}\r\n';

async function speak(server: string, options: Partial<NatsBusOptions>): Promise<void> {
  const onBug = (bug: unknown) => assert.unreachable(String(bug));
  const common = {
    name: 'test',
    clock: systemClock,
    onBug,
    logger: SILENT,
    connectTimeoutMs: 1_500,
  };
  await using bus = await openNatsBus({ servers: [server], ...common, ...options });
  await delivered(bus);
}

/** Asserts that no connection can be opened. Returns the error message. */
async function silenceAt(server: string, options: Partial<NatsBusOptions>): Promise<string> {
  const { message } = await refusalOf(() => speak(server, options));
  assert.match(message, /^no NATS server at /);
  return message;
}

const member = clientOf('member');
const stranger = clientOf('stranger');
const trust = suite('a connection to NATS');

trust('with TLS is accepted if both certificates have the same authority', async () => {
  await using server = await ownNats(ENCRYPTED);
  await speak(server.address, { tls: unchanging(member) });
});

trust(
  'with TLS is refused if a certificate has another authority, or the client has none',
  async () => {
    await using own = await ownNats(ENCRYPTED);
    const server = own.address;
    const other = { ...stranger, own: member.own };
    assert.match(await silenceAt(server, { tls: unchanging(other) }), /unable to verify/);
    const strange = { ...member, own: stranger.own };
    assert.match(await silenceAt(server, { tls: unchanging(strange) }), /alert|bad certificate/);
    const silent = { ...member, own: undefined };
    assert.match(
      await silenceAt(server, { tls: unchanging(silent) }),
      /certificate required|alert/,
    );
  },
);

trust('with TLS is refused if the server has no certificate', async () => {
  await silenceAt(plain, { tls: unchanging(member) });
  let heard = '';
  const sham = createServer((socket) => {
    socket.on('data', (bytes) => (heard += bytes.toString('latin1'))).on('error', () => undefined);
    socket.write(BEGUILING);
  }).listen(0, '127.0.0.1');
  await once(sham, 'listening');
  const server = `nats://127.0.0.1:${(sham.address() as AddressInfo).port}`;
  await silenceAt(server, { tls: unchanging(member), credentials: unchanging(AGENT) });
  sham.close();
  assert.ok(heard.length > 0, 'no client connected');
  assert.not.match(heard, /CONNECT|right one/);
});

trust('in plain text is accepted from a client without an authority', async () => {
  await using server = await ownNats(ENCRYPTED);
  await speak(server.address, {});
});

const users = suite('NATS with user and password');

users('accepts a connection with the right credentials only', async () => {
  await using own = await ownNats(NAMED);
  const server = own.address;
  await speak(server, { credentials: unchanging(AGENT) });
  const credentials = unchanging({ ...AGENT, password: 'wrong password' });
  assert.match(await silenceAt(server, { credentials }), /authorization/i);
});

for (const each of [trust, users]) each.run();
