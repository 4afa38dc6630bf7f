import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type EndCause, type Reader, UnreadAnswers } from '#edge/unread-answers';
import { ManualClock } from '#test/support/manual-clock';

const KIB = 1_024;
const MIB = 1_024 * KIB;

/** A connection of which a test says how much it has been given and has not taken. */
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
  /** Lets seconds pass, with a sweep after each. */
  const pass = (seconds: number, before: () => void = () => undefined): void => {
    for (let second = 0; second < seconds; second += 1) {
      before();
      clock.advance(1_000);
      unread.sweep();
    }
  };
  return { clock, ends, unread, readers, reader, pass };
}

const slow = suite('a connection with an answer that it does not take');

slow('is ended after 10 s, and not before', () => {
  const { reader, ends, pass } = scene(1);
  reader.give(MIB);
  pass(10);
  assert.not.ok(reader.destroyed);
  pass(1);
  assert.ok(reader.destroyed);
  assert.equal(ends, ['slow']);
});

slow('is ended when it takes less than 16 KiB a second', () => {
  const { reader, pass } = scene(1);
  reader.give(MIB);
  pass(20, () => reader.take(16 * KIB - 1));
  assert.ok(reader.destroyed);
});

slow('is left alone when it takes 16 KiB a second, in whatever steps', () => {
  const { reader, pass } = scene(1);
  let second = 0;
  reader.give(10 * MIB);
  pass(300, () => {
    second += 1;
    if (second % 5 === 0) reader.take(5 * 16 * KIB);
  });
  assert.not.ok(reader.destroyed);
});

slow('is ended 10 s after it stops, however much it took before', () => {
  const { reader, pass } = scene(1);
  reader.give(100 * MIB);
  pass(30, () => reader.take(MIB));
  pass(9);
  assert.not.ok(reader.destroyed);
  pass(3);
  assert.ok(reader.destroyed);
});

slow('starts anew when it has taken everything', () => {
  const { reader, pass } = scene(1);
  reader.give(100 * KIB);
  pass(8);
  reader.take(100 * KIB);
  pass(1);
  reader.give(100 * KIB);
  pass(10);
  assert.not.ok(reader.destroyed);
});

const many = suite('connections that hold too much together');

many('lose those that hold the most, at once, until it is 256 MiB', () => {
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

many('are counted by what they hold now, not by what they were given', () => {
  const { readers, unread, ends } = scene(300);
  for (const reader of readers) {
    reader.give(MIB);
    unread.note(reader, MIB);
    reader.take(MIB - 1);
  }
  assert.equal(ends, []);
});

many('are noticed by the sweep where their answers are small', () => {
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

for (const each of [slow, many]) each.run();
