import { setTimeout as sleep } from 'node:timers/promises';
import * as assert from 'uvu/assert';
import { type NatsBusOptions, openNatsBus } from '#bus/nats-bus';
import { systemClock } from '#stdlib/clock';
import { delivered } from '#test/bus/bus-contract';
import { AGENT, ENCRYPTED, NAMED, ownNats } from '#test/support/servers/own-nats';
import { natsOrSkip } from '#test/support/servers/real-servers';
import { clientOf } from '#test/support/servers/server-certificates';
import { settable } from '#test/support/settable';
import { soon } from '#test/support/soon';
import { noteLogger } from '#test/support/test-logger';

const { suite } = natsOrSkip();

/** Maximum duration of a reconnect in these tests, in milliseconds. */
const PATIENCE_MS = 20_000;

/** Time for several connection attempts, which are half a second apart. */
const SOME_ATTEMPTS_MS = 1_500;

const NEXT_PASSWORD = 'the next one';
const RENAMED = NAMED.replace(AGENT.password, NEXT_PASSWORD);

async function open(server: string, options: Partial<NatsBusOptions>) {
  const notices: string[] = [];
  const onBug = (bug: unknown) => assert.unreachable(String(bug));
  const logger = noteLogger((notice) => void notices.push(notice));
  const common = { name: 'test', clock: systemClock, onBug, logger };
  const bus = await openNatsBus({ servers: [server], ...common, ...options });
  return { bus, notices };
}

const eventually = (what: string, isSo: () => boolean) =>
  soon(what, isSo, { withinMs: PATIENCE_MS, everyMs: 10 });

const isBack = (notices: readonly string[]) =>
  notices.some((notice) => notice.includes('answers again'));

const password = suite('when the password of NATS changes');

password('the bus uses the new password after the server ends the connection', async () => {
  await using server = await ownNats(NAMED);
  const credentials = settable(AGENT);
  const { bus, notices } = await open(server.address, { credentials });
  await using _ = bus;
  credentials.set({ ...AGENT, password: NEXT_PASSWORD });
  await delivered(bus);
  assert.equal(notices, []);
  server.reload(RENAMED);
  await eventually('the connection is back', () => isBack(notices));
  await delivered(bus);
});

password('the bus reconnects as soon as it has the password of the server', async () => {
  await using server = await ownNats(NAMED);
  const credentials = settable(AGENT);
  const { bus, notices } = await open(server.address, { credentials });
  await using _ = bus;
  server.reload(RENAMED);
  await eventually('the connection is lost', () => !bus.isConnected);
  await sleep(SOME_ATTEMPTS_MS);
  assert.not(isBack(notices));
  credentials.set({ ...AGENT, password: NEXT_PASSWORD });
  await eventually('the connection is back', () => isBack(notices));
  await delivered(bus);
});

const certificates = suite('when the certificates for NATS change');

for (const [what, useless] of [
  ['presents', { ...clientOf('member'), own: clientOf('stranger').own }],
  ['trusts', { ...clientOf('stranger'), own: clientOf('member').own }],
] as const) {
  certificates(`the next connection uses the certificates that the bus ${what}`, async () => {
    await using server = await ownNats(ENCRYPTED);
    const tls = settable(clientOf('member'));
    const { bus, notices } = await open(server.address, { tls });
    await using _ = bus;
    tls.set(useless);
    await delivered(bus);
    await server.restart.stop();
    await server.restart.start();
    await sleep(SOME_ATTEMPTS_MS);
    assert.not(isBack(notices));
    tls.set(clientOf('edge'));
    await eventually('the connection is back', () => isBack(notices));
    await delivered(bus);
  });
}

for (const each of [password, certificates]) each.run();
