import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import * as assert from 'uvu/assert';
import type { Bus } from '#bus/bus';
import { busKeyOf, sealMessage } from '#bus/envelope';
import { type NatsBusOptions, openNatsBus } from '#bus/nats-bus';
import { newSenderKey } from '#bus/sender-key';
import { encodeAnnouncement } from '#cluster/heartbeat';
import { freePort } from '#deploy/local/servers/free-port';
import { systemClock } from '#stdlib/clock';
import { busContract, delivered } from '#test/bus/bus-contract';
import { ownNats } from '#test/support/servers/own-nats';
import { natsOrSkip } from '#test/support/servers/real-servers';
import { faultIn } from '#test/support/settled';
import { soon } from '#test/support/soon';
import { noteLogger } from '#test/support/test-logger';

const { address, suite } = natsOrSkip();

const KEY = busKeyOf('the secret of this test');

/** Maximum duration of a reconnect in these tests, in milliseconds. */
const PATIENCE_MS = 20_000;

async function open(server: string, options: Partial<NatsBusOptions> = {}) {
  const bugs: unknown[] = [];
  const notices: string[] = [];
  const bus = await openNatsBus({
    servers: [server],
    name: 'test',
    clock: systemClock,
    onBug: (error) => bugs.push(error),
    logger: noteLogger((notice) => void notices.push(notice)),
    ...options,
  });
  return { bus, bugs, notices };
}

const eventually = (what: string, isSo: () => boolean) =>
  soon(what, isSo, { withinMs: PATIENCE_MS, everyMs: 10 });

/** Subscribes to `subject`. The returned list collects the received messages as text. */
function messagesOn(bus: Bus, subject: string): string[] {
  const received: string[] = [];
  bus.subscribe(subject, (message) => received.push(new TextDecoder().decode(message)));
  return received;
}

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

const contract = busContract({ name: 'NATS', suite, open: () => open(address) });

const shared = suite('a NATS server between processes');

shared('carries messages from one process to the other', async () => {
  const [one, other] = await Promise.all([open(address), open(address)]);
  await using _one = one.bus;
  await using _other = other.bus;
  const subject = `between.${process.pid}.${Date.now()}`;
  const received = messagesOn(other.bus, subject);
  await delivered(other.bus);
  one.bus.publish(subject, bytes('hello'));
  await eventually('received', () => received.length > 0);
  assert.equal(received, ['hello']);
});

shared(
  'accepts the announcements of 256 shards in one turn, signed and with the largest epochs',
  async () => {
    const { bus, notices } = await open(address);
    await using _bus = bus;
    const subject = `announced.${process.pid}.${Date.now()}`;
    const received = messagesOn(bus, subject);
    await delivered(bus);
    const named = { cluster: randomUUID() };
    const seal = { macKey: KEY, sender: newSenderKey() };
    for (let shard = 0; shard < 256; shard += 1) {
      const epoch = Number.MAX_SAFE_INTEGER;
      const at = { shard, epoch, incarnation: 'e'.repeat(28), address: '255.255.255.255:65535' };
      const said = { cluster: named.cluster, service: 'limiter', ...at } as const;
      const envelope = { ...named, sequence: epoch, sentAtMs: Date.now() };
      bus.publish(subject, sealMessage(seal, subject, envelope, encodeAnnouncement(said)));
    }
    await eventually('received', () => received.length === 256 || notices.length > 0);
    assert.equal([received.length, notices], [256, []]);
  },
);

shared('loses no message that is published just before its sender closes normally', async () => {
  const [one, other] = await Promise.all([open(address), open(address)]);
  await using _other = other.bus;
  const subject = `parting.${process.pid}.${Date.now()}`;
  const received = messagesOn(other.bus, subject);
  await delivered(other.bus);
  const words = ['so', 'long', 'and', 'thanks'];
  for (const word of words) one.bus.publish(subject, bytes(word));
  await one.bus[Symbol.asyncDispose]();
  await eventually('all messages are received', () => received.length === words.length);
  assert.equal(received, words);
});

shared('drops a message that the server would refuse, reports it, and continues', async () => {
  const { bus, notices } = await open(address);
  await using _bus = bus;
  const subject = `bad subject ${process.pid}`;
  bus.publish(subject, bytes('a'));
  assert.match(notices.join('\n'), /could not send a message subject=bad subject/);
  await delivered(bus);
});

shared('drops messages that are published faster than the server acknowledges', async () => {
  const { bus } = await open(address);
  await using _bus = bus;
  const subject = `flood.${process.pid}.${Date.now()}`;
  let receivedBytes = 0;
  bus.subscribe(subject, ({ length }) => {
    receivedBytes += length;
  });
  for (let sent = 0; sent < 200; sent += 1) bus.publish(subject, new Uint8Array(1_024));
  // The buffer has room again after the server has answered.
  await eventually('room for another message', () => {
    bus.publish(subject, new Uint8Array(1));
    return receivedBytes % 1_024 > 0;
  });
  assert.is(Math.floor(receivedBytes / 1_024), 128);
});

const away = suite('when the NATS server stops');

away(
  'the loss is reported, publishing does not throw, and messages flow when the server is back',
  async () => {
    await using server = await ownNats();
    const { bus, notices } = await open(server.address);
    await using _bus = bus;
    const received = messagesOn(bus, 'subject');
    await server.restart.stop();
    await eventually('the loss is noticed', () => !bus.isConnected);
    bus.publish('subject', bytes('lost'));
    const meanwhile = messagesOn(bus, 'subject');
    const gone = bus.subscribe('subject', () => assert.unreachable());
    gone[Symbol.dispose]();
    await server.restart.start();
    await eventually('the server is back', () => bus.isConnected);
    bus.publish('subject', bytes('back'));
    await eventually('received', () => received.length > 0 && meanwhile.length > 0);
    await delivered(bus);
    assert.equal([received, meanwhile], [['back'], ['back']]);
    assert.is(notices.length, 2);
    assert.match(notices[0] ?? '', /is lost/);
    assert.match(notices[1] ?? '', /again/);
  },
);

away('the bus tries to reconnect without limit', async () => {
  await using server = await ownNats();
  const { bus } = await open(server.address);
  await using _bus = bus;
  await server.restart.stop();
  let attempts = 0;
  const closed = createServer((socket) => {
    attempts += 1;
    socket.destroy();
  });
  closed.listen(Number(new URL(server.address).port), '127.0.0.1');
  await eventually('three attempts', () => attempts === 3);
  closed.close();
  await once(closed, 'close');
  await server.restart.start();
  await eventually('the server is back', () => bus.isConnected);
  await delivered(bus);
});

away('the bus closes without waiting for the server', async () => {
  await using server = await ownNats();
  const { bus } = await open(server.address);
  await server.restart.stop();
  await eventually('the loss is noticed', () => !bus.isConnected);
  const startedMs = performance.now();
  await bus[Symbol.asyncDispose]();
  assert.ok(performance.now() - startedMs < 8_000);
});

/**
 * Opens a bus on the server `near` while the server `other` is stopped. `inOrder` returns both
 * addresses in the order that the bus gets.
 */
async function besideStopped(inOrder: (near: string, other: string) => string[]) {
  await using opening = new AsyncDisposableStack();
  const near = opening.use(await ownNats());
  const other = opening.use(await ownNats());
  await other.restart.stop();
  const servers = inOrder(near.address, other.address);
  const { bus, notices } = await open(near.address, { servers });
  opening.use(bus);
  const opened = opening.move();
  return { near, other, bus, notices, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}

away(
  'the bus leaves a frozen server when its send buffer is full, and uses the other server',
  async () => {
    await using scene = await besideStopped((near, other) => [near, other]);
    const { bus, notices, near: frozen, other } = scene;
    const received = messagesOn(bus, 'subject');
    await other.restart.start();
    frozen.restart.signal('SIGSTOP');
    try {
      await eventually('the loss is noticed', () => {
        // Checked first, because a flood after a quick reconnect would leave no room for the message
        // below.
        if (notices.some((notice) => notice.includes('is lost'))) return true;
        for (let sent = 0; sent < 100; sent += 1) bus.publish('flood', new Uint8Array(1_024));
        return false;
      });
      const reported = notices.filter((notice) =>
        notice.includes('because the send buffer is full'),
      );
      assert.is(reported.length, 1, 'the dropped messages are reported once');
      await eventually('the bus is connected to the other server', () => bus.isConnected);
      bus.publish('subject', bytes('here'));
      await eventually('received', () => received.length > 0);
    } finally {
      frozen.restart.signal('SIGCONT');
    }
  },
);

away('the bus connects to a server that was stopped when the bus opened', async () => {
  await using scene = await besideStopped((near, other) => [other, near]);
  const { bus, notices, near, other } = scene;
  await other.restart.start();
  await near.restart.stop();
  await eventually('the server is found', () => notices.some((notice) => notice.includes('again')));
  await delivered(bus);
});

const absent = suite('when no NATS server runs at the start');

absent('opening fails within its deadline, and names the address', async () => {
  const server = `nats://127.0.0.1:${await freePort()}`;
  const startedMs = performance.now();
  const refusal = await faultIn(open(server, { connectTimeoutMs: 700 }));
  assert.ok(performance.now() - startedMs < 4_500);
  assert.is(refusal.code, 'service_unavailable');
  assert.match(refusal.message, new RegExp(`^no NATS server at ${server}: `));
});

absent('opening fails in the same way on a listener that sends nothing', async () => {
  const sockets: Socket[] = [];
  const silent = createServer((socket) => sockets.push(socket)).listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const server = `nats://127.0.0.1:${(silent.address() as AddressInfo).port}`;
  const startedMs = performance.now();
  const refusal = await faultIn(open(server, { connectTimeoutMs: 700 }));
  silent.close();
  // The driver leaves a connection open that was never completed.
  for (const socket of sockets) socket.destroy();
  assert.ok(performance.now() - startedMs < 4_500);
  assert.match(refusal.message, new RegExp(`^no NATS server at ${server}: `));
});

absent('a server that starts within the deadline is used', async () => {
  await using server = await ownNats();
  await server.restart.stop();
  const opening = open(server.address, { connectTimeoutMs: PATIENCE_MS });
  await server.restart.start();
  const { bus } = await opening;
  await using _bus = bus;
  await delivered(bus);
});

for (const each of [...contract, shared, away, absent]) each.run();
