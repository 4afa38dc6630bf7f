import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Bus, Sender } from '#bus/bus';
import { inProcessBus } from '#bus/in-process-bus';
import { type SignedBusOptions, signedBus } from '#bus/signed-bus';
import { systemClock } from '#stdlib/clock';
import { unchanging } from '#stdlib/files';
import { busContract, keptAlive } from '#test/bus/bus-contract';
import { ManualClock } from '#test/support/manual-clock';
import { noteLogger } from '#test/support/test-logger';

const [SECRET, OTHER] = ['the secret of this test', 'another secret of a test'];

const noBug = (error: unknown): void => assert.unreachable(String(error));

const contract = busContract({
  name: 'a signed bus',
  suite,
  open: async () => {
    const bugs: unknown[] = [];
    const onBug = (error: unknown) => bugs.push(error);
    const bus = signedBus({
      ...{ bus: inProcessBus({ clock: systemClock, onBug }), clock: systemClock, onBug },
      ...{ secrets: unchanging([SECRET]), cluster: 'c' },
      ...{ onDropped: noBug, logger: noteLogger(noBug) },
    });
    return { bus: keptAlive(bus), bugs };
  },
});

const text = (message: Uint8Array): string => Buffer.from(message).toString();
const bytes = (content: string): Uint8Array => Buffer.from(content);

/** A bus that anybody can write to, and signed buses on it, each with its own clock. */
function newScene() {
  const wireClock = new ManualClock();
  const wire = inProcessBus({ clock: wireClock, onBug: noBug });
  const taped: Uint8Array[] = [];
  wire.subscribe('s', (message) => void taped.push(message));
  const open = (options: Partial<SignedBusOptions> = {}) => {
    const clock = new ManualClock(1_800_000_000_000);
    const dropped: string[] = [];
    const notices: string[] = [];
    const bus = signedBus({
      ...{ bus: sharing(wire), clock, secrets: unchanging([SECRET]), cluster: 'c', onBug: noBug },
      onDropped: (reason) => dropped.push(reason),
      logger: noteLogger((notice) => void notices.push(notice)),
      ...options,
    });
    const heard: string[] = [];
    const senders: (Sender | undefined)[] = [];
    bus.subscribe('s', (message, sender) => {
      heard.push(text(message));
      senders.push(sender);
    });
    const { incarnation = '' } = bus;
    return { bus, clock, incarnation, dropped, notices, heard, senders };
  };
  const say = ({ bus }: { bus: Bus }, content: string) => {
    bus.publish('s', bytes(content));
    wireClock.advance(0);
  };
  const forge = (message: Uint8Array, subject = 's') => {
    wire.publish(subject, message);
    wireClock.advance(0);
  };
  return { open, say, forge, taped };
}

/** The shared bus below several signed buses. It stays open when a signed bus closes. */
const sharing = (wire: Bus): Bus => ({
  isConnected: true,
  publish: (subject, message) => wire.publish(subject, message),
  subscribe: (subject, listener) => wire.subscribe(subject, listener),
  [Symbol.asyncDispose]: async () => undefined,
});

const signed = suite('a message on a signed bus');

signed('arrives with its sender, and with its time by the clock of the sender', () => {
  const { open, say } = newScene();
  const [a, b] = [open(), open()];
  a.clock.stepWall(5_000);
  say(a, 'x');
  assert.equal(b.heard, ['x']);
  const { incarnation, sentAtMs } = b.senders[0] ?? {};
  assert.equal([incarnation, sentAtMs], [a.incarnation, a.clock.wallMs()]);
});

signed('reaches each of several local listeners once', () => {
  const { open, say } = newScene();
  const [a, b] = [open(), open()];
  const second: string[] = [];
  const listening = b.bus.subscribe('s', (message) => void second.push(text(message)));
  say(a, 'x');
  listening[Symbol.dispose]();
  say(a, 'y');
  assert.equal([b.heard, second, b.dropped], [['x', 'y'], ['x'], []]);
});

signed('is accepted with either of two secrets, for rotation', () => {
  const { open, say } = newScene();
  const [before, during, after] = [
    open(),
    open({ secrets: unchanging([SECRET, OTHER]) }),
    open({ secrets: unchanging([OTHER, SECRET]) }),
  ];
  say(before, '1');
  say(during, '2');
  assert.equal([before.heard, during.heard, after.heard], Array(3).fill(['1', '2']));
  say(after, '3');
  assert.equal(during.heard, ['1', '2', '3']);
  assert.equal(before.heard, ['1', '2'], 'the receiver does not know the new secret yet');
});

// Catches pulled messages that skip the checks of the transport.
signed('is checked in the same way if it was pulled', () => {
  const { open, say, taped } = newScene();
  const [a, b] = [open(), open()];
  say(a, 'one');
  const [one = bytes('')] = taped;
  b.bus.receivePulled('s', one);
  b.bus.receivePulled('s', bytes('forged'));
  const other = open({ secrets: unchanging([OTHER]) });
  other.bus.receivePulled('s', one);
  assert.equal(b.heard, ['one'], 'a message that arrived before is ignored');
  assert.equal(b.dropped, ['unsigned']);
  assert.equal(other.heard, []);
});

const dropped = suite('a message on a signed bus');

dropped('is dropped without a signature, or with another signature', () => {
  const { open, say, forge } = newScene();
  const [a, stranger] = [open(), open({ secrets: unchanging([OTHER]) })];
  forge(bytes('{"epoch":9007199254740991}'));
  say(stranger, 'x');
  assert.equal([a.heard, a.dropped], [[], ['unsigned', 'signature']]);
});

dropped('is dropped for the reason `version` if it has the format of another release', () => {
  const { open, forge } = newScene();
  const a = open();
  const header = `${'0'.repeat(64)} c 1 1 ${'A'.repeat(86)} ${'A'.repeat(43)}`;
  for (const form of ['signed3', 'signed1']) forge(bytes(`${form} ${header}\nx`));
  assert.equal([a.heard, a.dropped], [[], ['version', 'version']]);
  assert.match(a.notices[0] ?? '', /in the format of another release/);
});

dropped('is dropped if it was received before, on any subject', () => {
  const { open, say, forge, taped } = newScene();
  const [a, b] = [open(), open()];
  const others: string[] = [];
  b.bus.subscribe('other', (message) => void others.push(text(message)));
  say(a, '1');
  say(a, '2');
  for (const message of [...taped]) forge(message);
  for (const message of [...taped]) forge(message, 'other');
  assert.equal([b.heard, others], [['1', '2'], []]);
  assert.ok(b.dropped.every((reason) => reason === 'repeated' || reason === 'signature'));
});

dropped('is dropped if it was recorded more than a minute before this process started', () => {
  const { open, say, forge, taped } = newScene();
  const a = open();
  say(a, 'old');
  const [old = new Uint8Array()] = taped;
  const [soon, late] = [open(), open()];
  soon.clock.advance(59_000);
  late.clock.advance(61_000);
  forge(old);
  assert.equal([soon.heard, late.heard, late.dropped], [['old'], [], ['stale']]);
});

dropped('is dropped as stale if its time is wrong, and as repeated if it arrives again', () => {
  const { open, say, forge, taped } = newScene();
  const a = open();
  const late = open();
  const strangers: Sender[] = [];
  late.bus.subscribe(
    's',
    () => undefined,
    (sender) => void strangers.push(sender),
  );
  a.clock.stepWall(61_000);
  say(a, '1');
  say(a, '2');
  for (const message of [...taped]) forge(message);
  assert.equal([late.heard, late.dropped], [[], ['stale', 'stale', 'repeated', 'repeated']]);
  assert.equal(
    strangers.map(({ incarnation, sentAtMs }) => [incarnation, sentAtMs]),
    Array(2).fill([a.incarnation, a.clock.wallMs()]),
  );
  a.clock.stepWall(-61_000);
  say(a, '3');
  assert.equal([late.heard, strangers.length], [['3'], 2], 'the sender’s clock is right again');
});

dropped('with a wrong time from another cluster is dropped, and its sender is not reported', () => {
  const { open, say } = newScene();
  const [late, foreign] = [open(), open({ cluster: 'other' })];
  let strangers = 0;
  late.bus.subscribe(
    's',
    () => undefined,
    () => (strangers += 1),
  );
  foreign.clock.stepWall(61_000);
  say(foreign, 'x');
  assert.equal([late.heard, late.dropped, strangers], [[], ['stale'], 0]);
});

dropped('is accepted although the clock of its known sender stepped', () => {
  const { open, say } = newScene();
  const [a, b] = [open(), open()];
  say(a, '1');
  a.clock.stepWall(10 * 365 * 86_400_000);
  say(a, '2');
  a.clock.stepWall(-20 * 365 * 86_400_000);
  say(a, '3');
  assert.equal([b.heard, b.dropped], [['1', '2', '3'], []]);
});

dropped(
  'is dropped if it is from another cluster, unless the receiver does not know its cluster',
  () => {
    const { open, say } = newScene();
    const [a, edge, foreign] = [open(), open({ cluster: undefined }), open({ cluster: 'other' })];
    say(foreign, 'x');
    assert.equal([a.heard, a.dropped, edge.heard], [[], ['cluster'], ['x']]);
    say(edge, 'y');
    assert.equal([a.heard, a.dropped], [['y'], ['cluster']]);
    assert.match(a.notices[0] ?? '', /ignored another cluster .* cluster=other/);
  },
);

dropped('does not make the bus forget known senders, however many messages are dropped', () => {
  const { open, say, forge } = newScene();
  const [a, b] = [open(), open()];
  say(a, '1');
  const stranger = open({ secrets: unchanging([OTHER]) });
  for (let count = 0; count < 9_000; count += 1) forge(bytes(`junk ${count}`));
  for (let count = 0; count < 100; count += 1) say(stranger, 'x');
  a.clock.stepWall(3_600_000);
  say(a, '2');
  assert.equal(b.heard, ['1', '2']);
});

dropped('is counted when it is dropped, and reported once in 30 s for each reason', () => {
  const { open, say, forge } = newScene();
  const [a, stranger] = [open(), open({ secrets: unchanging([OTHER]) })];
  for (let count = 0; count < 5; count += 1) {
    forge(bytes('junk'));
    say(stranger, 'x');
  }
  assert.is(a.dropped.length, 10);
  assert.is(a.notices.length, 2);
  a.clock.advance(30_001);
  forge(bytes('junk'));
  assert.is(a.notices.length, 3);
  assert.match(
    a.notices[0] ?? '',
    /^dropped a message without a signature.* subject=s reason=unsigned/,
  );
  assert.match(a.notices[1] ?? '', /SERVICE_CLUSTER_SECRET differs/);
});

for (const each of [...contract, signed, dropped]) each.run();
