import type { suite as plainSuite, Test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Bus } from '#bus/bus';

/** A bus under test. `bugs` collects the errors that its listeners throw. */
type OpenBus = { readonly bus: Bus; readonly bugs: unknown[] };

/**
 * Adapter under test. `suite` is the function of uvu, or a function that skips all tests if the
 * server is missing.
 */
export type BusUnderTest = {
  readonly name: string;
  readonly open: () => Promise<OpenBus>;
  readonly suite: typeof plainSuite;
};

/** Counts subjects. Every test has a new subject, because some buses are shared. */
let subjects = 0;
const newSubject = (): string => `test.${process.pid}.${Date.now().toString(36)}.${subjects++}`;

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const textOf = (message: Uint8Array): string => new TextDecoder().decode(message);

/** Keeps the process alive until the bus is closed. Timers of the system clock do not. */
export function keptAlive<Opened extends Bus>(bus: Opened): Opened {
  const alive = setInterval(() => undefined, 1_000);
  const close = bus[Symbol.asyncDispose];
  bus[Symbol.asyncDispose] = async () => {
    clearInterval(alive);
    await close();
  };
  return bus;
}

/** Fulfils when all messages published so far have reached the bus's own listeners. */
export async function delivered(bus: Bus): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const fence = newSubject();
  using _listener = bus.subscribe(fence, () => resolve());
  bus.publish(fence, bytes('fence'));
  await promise;
}

/** Arguments of a test: a bus, and a subject that no other test uses. */
type BusScene = OpenBus & { readonly subject: string };

/** Guarantees of the port: the test of each guarantee, by title. */
type Promises = Readonly<Record<string, (scene: BusScene) => Promise<void>>>;

/** Guarantees about messages. */
const MESSAGES: Promises = {
  async 'reach every listener of their subject, the sender included, and no other listener'({
    bus,
    subject,
  }) {
    const other = newSubject();
    const heard: string[] = [];
    using _first = bus.subscribe(subject, (message) => heard.push(`first ${textOf(message)}`));
    using _second = bus.subscribe(subject, (message) => heard.push(`second ${textOf(message)}`));
    using _other = bus.subscribe(other, (message) => heard.push(`other ${textOf(message)}`));
    bus.publish(subject, bytes('a'));
    await delivered(bus);
    assert.equal(heard.sort(), ['first a', 'second a']);
  },

  async 'arrive byte for byte'({ bus, subject }) {
    const heard: number[][] = [];
    using _listener = bus.subscribe(subject, (message) => heard.push([...message]));
    const every = Array.from({ length: 256 }, (_, byte) => byte);
    for (const message of [[], [13, 10], every]) bus.publish(subject, Uint8Array.from(message));
    await delivered(bus);
    assert.equal(heard, [[], [13, 10], every]);
  },

  async 'are delivered in a later turn, never within publish'({ bus, subject }) {
    const heard: string[] = [];
    using _listener = bus.subscribe(subject, (message) => heard.push(textOf(message)));
    bus.publish(subject, bytes('a'));
    assert.equal(heard, []);
    await Promise.resolve();
    assert.equal(heard, []);
    await delivered(bus);
    assert.equal(heard, ['a']);
  },

  async 'are copies, so that later changes of the bytes by the sender have no effect'({
    bus,
    subject,
  }) {
    const heard: string[] = [];
    using _listener = bus.subscribe(subject, (message) => heard.push(textOf(message)));
    const mine = Uint8Array.of(0);
    for (const digit of ['1', '2', '3']) {
      mine.set(bytes(digit));
      bus.publish(subject, mine);
    }
    mine.fill(0);
    await delivered(bus);
    assert.equal(heard, ['1', '2', '3']);
  },

  async 'may be published by a listener'({ bus, subject }) {
    const answers = newSubject();
    const heard: string[] = [];
    using _asked = bus.subscribe(subject, (message) => bus.publish(answers, message));
    using _answered = bus.subscribe(answers, (message) => heard.push(textOf(message)));
    bus.publish(subject, bytes('a'));
    await delivered(bus);
    await delivered(bus);
    assert.equal(heard, ['a']);
  },
};

/** Guarantees about listeners. */
const LISTENERS: Promises = {
  async 'receive nothing after they are disposed, not even messages in flight'({ bus, subject }) {
    const heard: string[] = [];
    const gone = bus.subscribe(subject, () => heard.push('disposed'));
    using _stays = bus.subscribe(subject, () => heard.push('stays'));
    bus.publish(subject, bytes('a'));
    gone[Symbol.dispose]();
    gone[Symbol.dispose]();
    await delivered(bus);
    assert.equal(heard, ['stays']);
  },

  async 'receive a message once for each of their subscriptions'({ bus, subject }) {
    let count = 0;
    const listener = (): void => {
      count += 1;
    };
    const first = bus.subscribe(subject, listener);
    using _second = bus.subscribe(subject, listener);
    bus.publish(subject, bytes('a'));
    await delivered(bus);
    assert.is(count, 2);
    first[Symbol.dispose]();
    bus.publish(subject, bytes('b'));
    await delivered(bus);
    assert.is(count, 3);
  },

  async 'are reported as bugs if they throw, and affect no other listener'({ bus, bugs, subject }) {
    const heard: string[] = [];
    using _broken = bus.subscribe(subject, () => {
      throw new Error('broken');
    });
    using _other = bus.subscribe(subject, (message) => heard.push(textOf(message)));
    for (const text of ['a', 'b']) bus.publish(subject, bytes(text));
    await delivered(bus);
    assert.equal(heard, ['a', 'b']);
    assert.equal(bugs.map(String), ['Error: broken', 'Error: broken']);
  },

  async 'receive nothing from a closed bus, and publishing to it does not throw'({ bus, subject }) {
    const heard: string[] = [];
    const listener = bus.subscribe(subject, (message) => heard.push(textOf(message)));
    assert.ok(bus.isConnected);
    await bus[Symbol.asyncDispose]();
    assert.not(bus.isConnected);
    bus.publish(subject, bytes('a'));
    await new Promise((resolve) => setImmediate(resolve));
    listener[Symbol.dispose]();
    await bus[Symbol.asyncDispose]();
    assert.equal(heard, []);
  },
};

/** Suites that test the guarantees of the Bus port. Every adapter runs them. */
export function busContract(underTest: BusUnderTest): Test[] {
  return [suiteOf('messages', MESSAGES, underTest), suiteOf('listeners', LISTENERS, underTest)];
}

function suiteOf(what: string, promises: Promises, underTest: BusUnderTest): Test {
  const tests = underTest.suite(`${what} on ${underTest.name}`);
  for (const [promise, prove] of Object.entries(promises)) {
    tests(promise, async () => {
      const opened = await underTest.open();
      await using _bus = opened.bus;
      await prove({ ...opened, subject: newSubject() });
    });
  }
  return tests;
}
