import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Fault } from '#errors/fault';
import { answerAt, CALLER, cycle, streamsUnderTest } from '#test/edge/connections/stream-fixture';
import { pass } from '#test/support/passing';
import { refusalOf, turnOfEvents } from '#test/support/settled';

const OTHER = { accountId: 'BobBobBobBob', credential: 'another key' };

/** Callers for an account, each with its own key. */
const keysOf = (accountId: string, count: number) =>
  Array.from({ length: count }, (_, n) => ({ accountId, credential: `${accountId} ${n}` }));

async function reasonOf(open: () => unknown): Promise<string | undefined> {
  const refusal = await refusalOf(open);
  return refusal instanceof Fault ? refusal.reason : undefined;
}

const bounded = suite('the streams at one edge');

bounded('are limited to twenty per key, until a stream ends', async () => {
  const { open } = streamsUnderTest();
  const opened = Array.from({ length: 20 }, () => open());
  assert.is(await reasonOf(() => open()), 'too_many_streams');
  open(OTHER);
  opened[0]?.response.destroy();
  open();
  assert.is(await reasonOf(() => open()), 'too_many_streams');
});

bounded('are limited to a hundred per account, over all keys', async () => {
  const { open } = streamsUnderTest();
  for (const caller of keysOf('AdaAdaAdaAda', 100)) open(caller);
  assert.is(await reasonOf(() => open()), 'too_many_streams');
  open(OTHER);
});

bounded('are limited to 2,000, including ended streams whose engine call still runs', async () => {
  const { streams, open } = streamsUnderTest();
  const accounts = Array.from({ length: 100 }, (_, n) => `account ${n}`);
  const opened = accounts.flatMap((id) => keysOf(id, 20).map((caller) => open(caller)));
  assert.is(await reasonOf(() => open()), 'overloaded');
  await turnOfEvents();
  for (const { response } of opened) response.destroy();
  assert.is(await reasonOf(() => open()), 'overloaded');
  await opened[0]?.answer(answerAt(7));
  assert.is(streams.open, 1_999);
  open();
});

bounded('free the slot of a stream that does not start', () => {
  const { streams } = streamsUnderTest();
  for (let n = 0; n < 50; n += 1) streams.reserve(CALLER)[Symbol.dispose]();
  assert.is(streams.open, 0);
});

const sent = suite('event streams');

sent('of a changed account end immediately, and its new streams within a second', async () => {
  const { clock, accountNews, ended, open } = streamsUnderTest();
  const [own, other] = [open(), open(OTHER)];
  accountNews.announce(CALLER.accountId);
  assert.equal([own.response.isEnded, other.response.isEnded], [true, false]);
  const retryMs = own.response.events.at(-1)?.retryMs ?? 0;
  assert.ok(retryMs > 1_000 && retryMs <= 3_000, `${retryMs}`);
  await pass(clock, 900, 100);
  const hasty = open();
  await pass(clock, 100, 100);
  assert.equal([hasty.response.isEnded, other.response.isEnded], [true, false]);
  await own.answer(answerAt(8, cycle(8)));
  assert.not.match(own.response.written, 'cycle');
  assert.equal(ended, ['account']);
});

sent('whose account changes during the first request end after the first answer', () => {
  const { streams, accountNews } = streamsUnderTest();
  const place = streams.reserve(CALLER);
  accountNews.announce(CALLER.accountId);
  const written: string[] = [];
  const response = {
    writableNeedDrain: false,
    write: (text: string) => written.push(text),
    end: (text: string) => written.push(`${text}the end`),
    once: () => undefined,
  };
  const ask = () => new Promise<never>(() => undefined);
  place.begin({ response: response as never, ask }, answerAt(7, cycle(7)));
  assert.match(written.join(''), /cycle[\s\S]*the end$/);
});

sent('end within an hour, at different times', async () => {
  const { clock, ended, open } = streamsUnderTest();
  const opened = Array.from({ length: 20 }, () => open());
  await pass(clock, 54 * 60_000 - 1_000, 1_000);
  assert.ok(opened.every(({ response }) => !response.isEnded));
  await pass(clock, 3 * 60_000, 1_000);
  const early = opened.filter(({ response }) => response.isEnded).length;
  assert.ok(early > 0 && early < 20, `${early}`);
  await pass(clock, 3 * 60_000 + 2_000, 1_000);
  for (const { response, answer } of opened) {
    assert.ok(response.isEnded);
    await answer(answerAt(7));
  }
  assert.equal(ended, Array(20).fill('age'));
});

sent('end within half a minute if no account changes are announced', async () => {
  const { clock, open } = streamsUnderTest(false);
  const { response } = open();
  await pass(clock, 26_000, 1_000);
  assert.not(response.isEnded);
  await pass(clock, 5_000, 1_000);
  assert.ok(response.isEnded);
});

sent('end half a minute after announcements fail, or when announcements resume', async () => {
  const { clock, accountNews, ended, open } = streamsUnderTest();
  const first = open();
  await pass(clock, 5_000, 1_000);
  accountNews.isHeard = false;
  await pass(clock, 30_000, 1_000);
  assert.not(first.response.isEnded);
  await pass(clock, 2_000, 1_000);
  assert.ok(first.response.isEnded);
  const second = open();
  await pass(clock, 5_000, 1_000);
  assert.not(second.response.isEnded, 'a stream that opened meanwhile must last half a minute');
  accountNews.isHeard = true;
  await pass(clock, 1_000, 1_000);
  assert.ok(second.response.isEnded);
  await first.answer(answerAt(7));
  assert.equal(ended, ['account']);
});

sent('with a configured age end at that age, and send the configured retry delay', async () => {
  for (const isHeard of [true, false]) {
    const { clock, open } = streamsUnderTest(isHeard, { streamMsMax: 20_000, retryMs: 70 });
    const { response } = open();
    await pass(clock, 17_000, 1_000);
    assert.not(response.isEnded);
    await pass(clock, 4_000, 1_000);
    assert.ok(response.isEnded);
    assert.is(response.events.at(-1)?.retryMs, 70);
  }
});

sent('with a long configured age end within half a minute without announcements', async () => {
  const { clock, open } = streamsUnderTest(false, { streamMsMax: 600_000, retryMs: 70 });
  const { response } = open();
  await pass(clock, 31_000, 1_000);
  assert.ok(response.isEnded);
});

sent('end when their key expires', async () => {
  const { clock, open } = streamsUnderTest();
  const { response } = open(CALLER, clock.wallMs() + 60_000);
  await pass(clock, 59_000, 1_000);
  assert.not(response.isEnded);
  await pass(clock, 2_000, 1_000);
  assert.ok(response.isEnded);
});

sent('end when the edge drains; later streams end after their first answer', async () => {
  const { streams, listeners, open } = streamsUnderTest();
  const before = open();
  const deaf = open();
  deaf.response.writableNeedDrain = true;
  streams.drain();
  assert.ok(before.response.isEnded);
  assert.ok(deaf.response.isDestroyed, 'a stream that its client does not read is cut off');
  const late = open();
  assert.equal(
    late.response.events.map(({ event }) => event),
    [undefined, 'state', undefined],
  );
  assert.ok(late.response.isEnded);
  assert.is(listeners.size, 0);
});

for (const each of [bounded, sent]) each.run();
