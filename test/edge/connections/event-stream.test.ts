import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Fault, faultFor } from '#errors/fault';
import { answerAt, cycle, streamsUnderTest } from '#test/edge/connections/stream-fixture';
import { pass } from '#test/support/passing';
import { turnOfEvents } from '#test/support/settled';

const moving = () => faultFor('engine_unavailable', 'the shard moves', { isOutcomeUnknown: true });

const following = suite('an event stream');

following('sends the first answer, then requests the next events', async () => {
  const { response, asked, answer } = streamsUnderTest().open();
  await turnOfEvents();
  assert.equal(
    response.events.map(({ event, retryMs }) => event ?? retryMs),
    [1_000, 'state'],
  );
  assert.equal(
    asked.map(({ after }) => after.ordinal),
    [7],
  );
  await answer(answerAt(8, cycle(8)));
  assert.is(response.events.at(-1)?.id, 8);
  assert.is(asked.at(-1)?.after.ordinal, 8);
});

following('repeats the same request after an answer without events', async () => {
  const { response, asked, answer } = streamsUnderTest().open();
  await turnOfEvents();
  const before = response.written;
  await answer(answerAt(7));
  assert.is(response.written, before);
  assert.equal(
    asked.map(({ after }) => after.ordinal),
    [7, 7],
  );
});

following('requests no events while its client has unread text', async () => {
  const { clock, open } = streamsUnderTest();
  const { response, asked, answer } = open();
  await turnOfEvents();
  response.writableNeedDrain = true;
  await answer(answerAt(8, cycle(8)));
  await pass(clock, 60_000, 1_000);
  assert.is(asked.length, 1);
  assert.not.match(response.written, 'keep-alive');
  response.take();
  await turnOfEvents();
  assert.is(asked.length, 2);
});

following('repeats the same request while the instance moves, and loses no event', async () => {
  const { clock, open } = streamsUnderTest();
  const { response, asked, answer, refuse } = open();
  await turnOfEvents();
  for (let attempts = 1; attempts <= 5; attempts += 1) {
    await refuse(moving());
    assert.is(asked.length, attempts, 'the retry must wait');
    await pass(clock, 2_000, 250);
    assert.is(asked.length, attempts + 1);
    assert.is(asked.at(-1)?.after.ordinal, 7);
  }
  await answer(answerAt(8, cycle(8)));
  assert.is(response.events.at(-1)?.id, 8);
});

following('waits as long as a refusal during an upgrade requires', async () => {
  const { clock, open } = streamsUnderTest();
  const { asked, refuse } = open();
  await turnOfEvents();
  await refuse(faultFor('upgrade_in_progress', 'an engine of 1.0', { retryAfterS: 5 }));
  await pass(clock, 4_900, 100);
  assert.is(asked.length, 1);
  await pass(clock, 200, 100);
  assert.is(asked.length, 2);
});

following('ends when no engine has answered for a minute', async () => {
  const { clock, ended, open } = streamsUnderTest();
  const { response, refuse } = open();
  await turnOfEvents();
  for (let seconds = 0; seconds < 70 && !response.isEnded; seconds += 2) {
    await refuse(moving());
    await pass(clock, 2_000, 500);
  }
  assert.equal(ended, ['unanswered']);
  assert.is(response.events.at(-1)?.retryMs, 1_000);
});

following('reports the deletion of its instance, and ends', async () => {
  const { ended, open } = streamsUnderTest();
  const { response, refuse } = open();
  await turnOfEvents();
  await refuse(new Fault('not_found', 'no such instance'));
  assert.is(response.events.at(-2)?.event, 'deleted');
  assert.equal([response.isEnded, ended], [true, ['deleted']]);
});

following('ends on any other refusal', async () => {
  const { ended, open } = streamsUnderTest();
  const { response, refuse } = open();
  await turnOfEvents();
  await refuse(new Error('a bug'));
  assert.equal([response.isEnded, ended], [true, ['failed']]);
});

following('sends a comment every 15 s without events', async () => {
  const { clock, open } = streamsUnderTest();
  const { response, answer } = open();
  const count = () => response.written.split(': keep-alive\n\n').length - 1;
  await pass(clock, 14_000, 1_000);
  assert.is(count(), 0);
  await pass(clock, 1_000, 1_000);
  assert.is(count(), 1);
  await pass(clock, 10_000, 1_000);
  await answer(answerAt(8, cycle(8)));
  await pass(clock, 14_000, 1_000);
  assert.is(count(), 1);
  await pass(clock, 1_000, 1_000);
  assert.is(count(), 2);
});

following.run();
