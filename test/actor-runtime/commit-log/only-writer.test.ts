import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { APPEND_STALL_MS_MAX, LEASE_MS } from '#actor-runtime/actor-bounds';
import { CommitLog } from '#actor-runtime/commit-log';
import { Fault } from '#errors/fault';
import { newScene, OnlyJournal } from '#test/actor-runtime/commit-log/commit-log-fixture';
import { lineOf } from '#test/actor-runtime/commit-log/journal-records';
import { ManualClock } from '#test/support/manual-clock';
import { refusalOf, stateOf, turnOfEvents } from '#test/support/settled';

function scene() {
  const clock = new ManualClock();
  const journal = new OnlyJournal();
  return { clock, journal, log: new CommitLog(journal, clock) };
}

const only = suite('the log of a journal that no other node can take over');

only('always has the read lease, even while an append has no answer', async () => {
  const { clock, log } = scene();
  assert.ok(log.isLeased());
  log.add(lineOf({ version: 1 }));
  void log.whenDurable(1);
  clock.advance(10 * LEASE_MS);
  assert.ok(log.isLeased());
  await log.whenConfirmed();
  assert.is(
    await stateOf(log.whenDurable(1)),
    'pending',
    'records that are not durable are not visible',
  );
});

only('gives no answers after the journal has ended', async () => {
  const { log } = scene();
  log.end(new Error('the file is damaged'));
  assert.not(log.isLeased());
  assert.instance(await refusalOf(() => log.whenConfirmed()), Fault);
});

only('commits nothing while its journal refuses appends, and continues afterwards', async () => {
  const { journal, log } = scene();
  const refused = new Fault('service_unavailable', 'the disk is nearly full', { retryAfterS: 5 });
  assert.not(log.isHeldUp);
  journal.refused = refused;
  assert.is(await refusalOf(() => log.assertOpen()), refused);
  assert.ok(log.isHeldUp);
  log.assertAlive();
  journal.refused = undefined;
  log.assertOpen();
  assert.not(log.isHeldUp);
});

only('is blocked while an append has no answer, and not after the append has ended', async () => {
  const { clock, journal, log } = scene();
  void log.whenDurable(log.add(lineOf({ version: 1 }))).catch(() => undefined);
  await turnOfEvents();
  clock.advance(APPEND_STALL_MS_MAX);
  assert.not(log.isHeldUp);
  clock.advance(1);
  assert.ok(log.isHeldUp);
  await journal.fail();
  assert.not(log.isHeldUp, 'a log that has ended is not blocked');
});

only('can be blocked, unlike the log of a journal that another node can take over', async () => {
  const { clock, log, add } = newScene();
  await add(1);
  clock.advance(APPEND_STALL_MS_MAX + 1);
  assert.instance(await refusalOf(() => log.assertOpen()), Fault);
  assert.not(log.isHeldUp);
});

only.run();
