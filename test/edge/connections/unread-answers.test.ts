import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type EndCause, type Reader, UnreadAnswers } from '#edge/listen/slow-peers';
import { ManualClock } from '#test/support/manual-clock';

const KIB = 1_024;
const MIB = 1_024 * KIB;

/** A connection whose written and unread bytes a test controls. */
class FakeReader implements Reader {
  destroyed = false;
  bytesWritten = 0;
  _handle = { writeQueueSize: 0 };

  get writableLength(): number {
    return this._handle.writeQueueSize;
  }

  give(bytes: number): void {
    this.bytesWritten += bytes;
    this._handle.writeQueueSize += bytes;
  }

  take(bytes: number): void {
    this._handle.writeQueueSize -= bytes;
  }

  resetAndDestroy(): this {
    this.destroyed = true;
    return this;
  }
}

function scene(count: number) {
  const clock = new ManualClock();
  const ends: EndCause[] = [];
  const unread = new UnreadAnswers(clock, (cause) => ends.push(cause));
  const readers = Array.from({ length: count }, () => new FakeReader());
  for (const reader of readers) unread.add(reader);
  const [reader = new FakeReader()] = readers;
  /** Advances the clock by `seconds`, with a sweep after each second. */
  const pass = (seconds: number, before: () => void = () => undefined): void => {
    for (let second = 0; second < seconds; second += 1) {
      before();
      clock.advance(1_000);
      unread.sweep();
    }
  };
  /** Asserts that the first connection survives `seconds`, and ends within `more` seconds. */
  const assertEndsIn = (seconds: number, more: number): void => {
    pass(seconds);
    assert.not.ok(reader.destroyed);
    pass(more);
    assert.ok(reader.destroyed);
  };
  return { clock, ends, unread, readers, reader, pass, assertEndsIn };
}

const slow = suite('a connection with an unread answer');

slow('is ended after 10 s without reading, and not before', () => {
  const { reader, ends, assertEndsIn } = scene(1);
  reader.give(MIB);
  assertEndsIn(10, 1);
  assert.equal(ends, ['slow']);
});

slow('is ended if it reads less than 16 KiB a second', () => {
  const { reader, pass } = scene(1);
  reader.give(MIB);
  pass(20, () => reader.take(16 * KIB - 1));
  assert.ok(reader.destroyed);
});

slow('is kept if it reads 16 KiB a second, in steps of any size', () => {
  const { reader, pass } = scene(1);
  let second = 0;
  reader.give(10 * MIB);
  pass(300, () => {
    second += 1;
    if (second % 5 === 0) reader.take(5 * 16 * KIB);
  });
  assert.not.ok(reader.destroyed);
});

slow('is ended 10 s after its last read, however much it read before', () => {
  const { reader, pass, assertEndsIn } = scene(1);
  reader.give(100 * MIB);
  pass(100, () => reader.take(100 * KIB));
  assertEndsIn(8, 3);
});

slow('has another 10 s after it has read everything', () => {
  const { reader, pass } = scene(1);
  reader.give(100 * KIB);
  pass(8);
  reader.take(100 * KIB);
  pass(1);
  reader.give(100 * KIB);
  pass(10);
  assert.not.ok(reader.destroyed);
});

const steps = suite('a connection whose kernel accepts an answer in large steps');

/** Reads at a steady rate. The kernel shows progress only in steps of `stepBytes`. */
function readInSteps(
  { reader, pass }: ReturnType<typeof scene>,
  bytesPerSecond: number,
  stepBytes: number,
  seconds: number,
): void {
  let read = 0;
  pass(seconds, () => {
    read += bytesPerSecond;
    if (read < stepBytes || reader.destroyed) return;
    read -= stepBytes;
    reader.take(stepBytes);
  });
}

/** A connection whose 4 MiB kernel buffer is full, with more data waiting. */
function sceneOfFullBuffer() {
  const opened = scene(1);
  opened.reader.give(100 * MIB);
  opened.reader.take(4 * MIB);
  return opened;
}

/** Like `sceneOfFullBuffer`, two seconds later, after a step of `bytes`. */
function sceneAfterStep(bytes: number) {
  const opened = sceneOfFullBuffer();
  opened.pass(1);
  opened.pass(1, () => opened.reader.take(bytes));
  return opened;
}

for (const kibPerSecond of [40, 60, 100]) {
  for (const stepBytes of [300 * KIB, MIB, 1_471 * KIB]) {
    steps(`of ${stepBytes / KIB} KiB is kept at ${kibPerSecond} KiB a second`, () => {
      const opened = sceneOfFullBuffer();
      readInSteps(opened, kibPerSecond * KIB, stepBytes, 600);
      assert.not.ok(opened.reader.destroyed);
    });
  }
}

steps('is kept at 17 KiB a second after its first step', () => {
  const opened = sceneAfterStep(MIB);
  readInSteps(opened, 17 * KIB, MIB, 600);
  assert.not.ok(opened.reader.destroyed);
});

steps('is ended at 10 KiB a second when the time granted by its last step has passed', () => {
  const opened = sceneAfterStep(MIB);
  readInSteps(opened, 10 * KIB, MIB, 61);
  assert.not.ok(opened.reader.destroyed);
  readInSteps(opened, 10 * KIB, MIB, 12);
  assert.ok(opened.reader.destroyed);
  assert.equal(opened.ends, ['slow']);
});

steps('is ended 90 s after a step, however large the step was', () => {
  const { assertEndsIn } = sceneAfterStep(50 * MIB);
  assertEndsIn(88, 12);
});

steps('is ended after 40 s without a step, because perhaps only its kernel has read', () => {
  const { assertEndsIn } = sceneOfFullBuffer();
  assertEndsIn(40, 2);
});

steps('is ended after 10 s without a step if its kernel accepted little data before', () => {
  const { reader, pass } = scene(1);
  reader.give(MIB);
  reader.take(200 * KIB);
  pass(11);
  assert.ok(reader.destroyed);
});

const many = suite('many connections with unread answers');

many('are ended immediately, largest first, until 256 MiB remain', () => {
  const { readers, unread, ends } = scene(300);
  for (const [index, reader] of readers.entries()) {
    reader.give(index === 7 ? 2 * MIB : MIB);
    unread.note(reader, MIB);
    assert.ok(unread.bytes <= 256 * MIB, `${unread.bytes}`);
  }
  assert.ok(readers[7]?.destroyed);
  assert.ok(ends.length >= 300 - 256 && ends.every((cause) => cause === 'too_much'));
  assert.is(readers.filter(({ destroyed }) => destroyed).length, ends.length);
});

many('count with their unread bytes, not with all bytes written', () => {
  const { readers, unread, ends } = scene(300);
  for (const reader of readers) {
    reader.give(MIB);
    unread.note(reader, MIB);
    reader.take(MIB - 1);
  }
  assert.equal(ends, []);
});

many('are ended longest idle first, even if other connections have more unread bytes', () => {
  const { readers, ends, pass } = scene(300);
  const [honest] = readers;
  for (const reader of readers) reader.give(reader === honest ? 20 * MIB : 800 * KIB);
  pass(5, () => honest?.take(100 * KIB));
  assert.equal(ends, []);
  for (const reader of readers) if (reader !== honest) reader.give(200 * KIB);
  pass(1, () => honest?.take(100 * KIB));
  assert.not.ok(honest?.destroyed);
  assert.ok(ends.length > 50 && ends.every((cause) => cause === 'too_much'));
});

many('keep only the samples of the sweeps, however often the limit is exceeded', () => {
  const { clock, readers, unread, pass } = scene(3);
  const [honest, deaf, late] = readers;
  honest?.give(100 * MIB);
  deaf?.give(100 * MIB);
  pass(9, () => honest?.take(160 * KIB));
  // Exceeding the limit between two sweeps adds a sample to all connections.
  clock.advance(100);
  honest?.take(160 * KIB);
  late?.give(100 * MIB);
  if (late !== undefined) unread.note(late, 100 * MIB);
  assert.equal([honest?.destroyed, deaf?.destroyed, late?.destroyed], [false, true, false]);
  pass(9, () => honest?.take(160 * KIB));
  assert.not.ok(honest?.destroyed);
});

many('are counted by the sweep if their answers are small', () => {
  const { readers, unread, ends, pass } = scene(20_000);
  for (const reader of readers) {
    reader.give(16 * KIB);
    unread.note(reader, 16 * KIB);
  }
  assert.is(unread.bytes, 0);
  pass(1);
  assert.is(unread.bytes, 256 * MIB);
  assert.is(ends.length, 20_000 - 16_384);
});

const still = suite('a connection that was idle for the time-out of its listener');

/**
 * Sends a request to a server with this handler. Calls `look` when the server's socket has timed
 * out.
 */
async function whenStill(
  answer: RequestListener,
  look: (socket: Socket) => unknown,
): Promise<void> {
  const server = createServer({ keepAliveTimeout: 60_000 }, answer).setTimeout(100);
  new UnreadAnswers(new ManualClock(), () => undefined).watch(server);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1').pause();
  client.on('error', () => undefined);
  try {
    client.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    const [socket] = (await once(server, 'timeout')) as [Socket];
    await look(socket);
  } finally {
    client.destroy();
    server.close();
    server.closeAllConnections();
  }
}

still('is not ended while an answer waits, even after a second time-out', async () => {
  await whenStill(
    (_, response) => void response.end(Buffer.alloc(20 * MIB)),
    async (socket) => {
      assert.ok(socket.writableLength > 0);
      assert.not.ok(socket.destroyed);
      await once(socket, 'timeout');
      assert.not.ok(socket.destroyed);
    },
  );
});

still('is ended if it has no answer yet, or has read its answer', async () => {
  const isDestroyed = ({ destroyed }: Socket) => assert.ok(destroyed);
  await whenStill(() => undefined, isDestroyed);
  await whenStill((_, response) => void response.write('the beginning'), isDestroyed);
});

for (const each of [still, slow, steps, many]) each.run();
