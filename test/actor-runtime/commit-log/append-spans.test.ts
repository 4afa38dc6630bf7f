import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { CommitLog } from '#actor-runtime/commit-log';
import { AppendSpans } from '#actor-runtime/record-codec';
import { HeldJournal } from '#test/actor-runtime/commit-log/commit-log-fixture';
import { lineOf } from '#test/actor-runtime/commit-log/journal-records';
import { ManualClock } from '#test/support/manual-clock';
import { RecordedSpans, recordedSpan } from '#test/support/recorded-spans';
import { turnOfEvents } from '#test/support/settled';

function newScene() {
  const journal = new HeldJournal();
  const tracer = new RecordedSpans();
  const log = new CommitLog(journal, new ManualClock(), new AppendSpans(tracer, 'engine'));
  /** Adds one record per span in one turn of the event loop, with a caller that waits. */
  const add = async (...traceparents: (string | undefined)[]) => {
    for (const traceparent of traceparents) log.add(lineOf({}), traceparent);
    log.whenDurable(log.added).catch(() => undefined);
    await turnOfEvents();
  };
  return { journal, tracer, add };
}

const [first, second, third] = [recordedSpan(1), recordedSpan(2), recordedSpan(3)];
const unsampled = recordedSpan(4).replace(/01$/, '00');

const appends = suite('an append to the journal');

appends('is linked once to every recorded span whose records it contains', async () => {
  const { journal, tracer, add } = newScene();
  await add(first, undefined, second, second, unsampled);
  assert.equal(tracer.ended, []);
  await journal.succeed();
  const attributes = { 'identity.service': 'engine', 'identity.journal.records': 5 };
  assert.equal(tracer.ended, [
    { name: 'journal append', links: [first, second], attributes, error: undefined },
  ]);
});

appends('is not linked to spans whose records are in another append', async () => {
  const { journal, tracer, add } = newScene();
  await add(first);
  await add(second);
  await add(third);
  await journal.succeedAll();
  await journal.succeedAll();
  assert.equal(
    tracer.ended.map(({ links }) => links),
    [[first], [second], [third]],
  );
});

appends(
  'is linked to the spans of its records, even if the records of a span need several appends',
  () => {
    const tracer = new RecordedSpans();
    const spans = new AppendSpans(tracer, 'engine');
    for (let offset = 1; offset <= 5_000; offset += 1) spans.committed(offset, first);
    spans.committed(5_001, second);
    spans.committed(5_003, second);
    for (const offset of [4_000, 5_001, 5_002, 5_003]) spans.begin(1, offset)?.end();
    assert.is(spans.begin(1, 6_000), undefined);
    assert.equal(
      tracer.ended.map(({ links }) => links),
      [[first], [first, second], [second]],
    );
  },
);

appends('is not recorded when none of its records has a recorded span', async () => {
  const { journal, tracer, add } = newScene();
  await add(undefined, unsampled);
  await journal.succeed();
  assert.equal(tracer.ended, []);
});

appends('marks its span as failed when it fails', async () => {
  const { journal, tracer, add } = newScene();
  await add(first);
  await journal.fail();
  assert.is(tracer.ended[0]?.error, 'journal_ended');
});

appends.run();
