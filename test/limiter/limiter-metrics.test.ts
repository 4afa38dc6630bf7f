import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { ONE_SHARD } from '#actor-runtime/actor-host';
import { CommitLog } from '#actor-runtime/commit-log';
import type { Fault } from '#errors/fault';
import { LimiterActors, limiterMetrics } from '#limiter/actors';
import { AccountCalls } from '#limiter/calls';
import { memoryAccountStore } from '#storage/memory/accounts';
import { memoryMeterStore } from '#storage/memory/meters';
import { createMetrics } from '#telemetry/metrics';
import { admission, custom, record, settlement } from '#test/limiter/limiter-fixture';
import { addKey } from '#test/storage/contracts/stored-keys';
import { ManualClock } from '#test/support/manual-clock';
import { memoryTrail } from '#test/support/memory-trail';
import { scrapedOf } from '#test/support/scraped';
import { refusalOf, turnOfEvents } from '#test/support/settled';
import { SlowJournal } from '#test/support/tally-actor';

const CHECKS = /^limiter_checks_total/;

const reports = suite('the metrics of the limiter');

reports('count a check for each verdict, but none for a settlement', async () => {
  const metrics = createMetrics();
  const reported = limiterMetrics(metrics);
  reported.answered('admitted');
  reported.answered('rate_limited');
  reported.answered('quota_exceeded');
  for (const verdict of ['unknown_key', 'read_only_key', 'account_suspended'] as const) {
    reported.answered(verdict);
  }
  reported.answered('settled');
  reported.unavailable();
  assert.equal(await scrapedOf(metrics, CHECKS), {
    'limiter_checks_total{decision="allow"}': 1,
    'limiter_checks_total{decision="rate"}': 1,
    'limiter_checks_total{decision="quota"}': 1,
    'limiter_checks_total{decision="key"}': 3,
    'limiter_checks_total{decision="unavailable"}': 1,
  });
});

reports('count lost cycles by cause, and expired reservations', async () => {
  const metrics = createMetrics();
  const reported = limiterMetrics(metrics);
  const { text } = await metrics.scrape();
  assert.match(text, /^limiter_lost_cycles_total\{cause="expired"\} 0$/m);
  assert.match(text, /^limiter_lost_cycles_total\{cause="crash"\} 0$/m);
  reported.lost('expired', 7);
  reported.lost('expired', 2);
  reported.lost('crash', 20);
  reported.lostMuch();
  assert.equal(await scrapedOf(metrics, /^limiter_(lost|heavy|reservations)/), {
    'limiter_lost_cycles_total{cause="expired"}': 9,
    'limiter_lost_cycles_total{cause="crash"}': 20,
    limiter_reservations_expired_total: 2,
    limiter_heavy_losses_total: 1,
  });
});

reports('measure duration and result of each raise, by watermark', async () => {
  const metrics = createMetrics();
  const reported = limiterMetrics(metrics);
  reported.raised('month', true, 0.25);
  reported.raised('window', false, 0.5);
  assert.equal(await scrapedOf(metrics, /^limiter_watermark_raise_seconds_sum/), {
    'limiter_watermark_raise_seconds_sum{watermark="month",result="ok"}': 0.25,
    'limiter_watermark_raise_seconds_sum{watermark="window",result="failed"}': 0.5,
  });
});

/** Meters of an account, with a journal whose appends end on demand. */
async function newScene() {
  const [clock, journal, metrics] = [new ManualClock(), new SlowJournal(), createMetrics()];
  const { account, keys } = record(custom(60, 100));
  const accounts = memoryAccountStore(clock);
  await accounts.create(account);
  for (const key of keys) await addKey(accounts, account.id, key);
  const actors = new LimiterActors(
    { idleAgeMs: 60_000, memoryBytesMax: 1_000_000 },
    {
      accounts,
      meters: memoryMeterStore(),
      accountCalls: new AccountCalls(memoryTrail(clock), undefined),
      keyUses: { note: () => undefined },
      clock,
      metrics,
      log: new CommitLog(journal, clock),
      gate: ONE_SHARD,
      onBug: (bug) => assert.unreachable(String(bug)),
    },
  );
  return { clock, journal, metrics, actors };
}

const asked = suite('the metrics of a call to a limiter');

asked('time the raise of both watermarks until the journal answers', async () => {
  const { clock, journal, metrics, actors } = await newScene();
  clock.advance(5_000);
  const answer = Promise.resolve(actors.ask(admission(1)));
  await turnOfEvents();
  clock.advance(250);
  await journal.succeed();
  assert.is((await answer).verdict, 'admitted');
  const names = /^limiter_watermark_raise_seconds_(sum|count)/;
  const found = await scrapedOf(metrics, names);
  assert.is(found['limiter_watermark_raise_seconds_sum{watermark="month",result="ok"}'], 0.25);
  assert.is(found['limiter_watermark_raise_seconds_sum{watermark="window",result="ok"}'], 0.25);
  assert.equal(
    Object.keys(found).filter((name) => name.includes('failed')),
    [],
  );
});

asked('count a failed append as a failed raise and an unavailable check', async () => {
  const { journal, metrics, actors } = await newScene();
  const refusal = refusalOf(() => actors.ask(admission(1)));
  await turnOfEvents();
  await journal.fail();
  assert.is(((await refusal) as Fault).code, 'service_unavailable');
  await turnOfEvents();
  const found = await scrapedOf(metrics, /^limiter_(checks_total|watermark_raise_seconds_count)/);
  assert.equal(found, {
    'limiter_checks_total{decision="unavailable"}': 1,
    'limiter_watermark_raise_seconds_count{watermark="month",result="failed"}': 1,
    'limiter_watermark_raise_seconds_count{watermark="window",result="failed"}': 1,
  });
});

asked('count an immediate refusal as unavailable', async () => {
  const { journal, metrics, actors } = await newScene();
  const answer = Promise.resolve(actors.ask(admission(1)));
  await turnOfEvents();
  await journal.succeed();
  await answer;
  await turnOfEvents();
  const closed = actors[Symbol.asyncDispose]();
  assert.throws(() => actors.ask(admission(2)), /shutting down/);
  await closed;
  assert.equal(await scrapedOf(metrics, CHECKS), {
    'limiter_checks_total{decision="allow"}': 1,
    'limiter_checks_total{decision="unavailable"}': 1,
  });
});

const late = suite('a call to a limiter that waits longer than its deadline');

late('is answered if it is a settlement, and refused if it is an admission', async () => {
  const { clock, journal, actors } = await newScene();
  const answer = Promise.resolve(actors.ask(admission(1, 5)));
  const refusal = refusalOf(() => actors.ask(admission(2)));
  const settled = Promise.resolve(actors.ask(settlement(1, 5)));
  clock.advance(101);
  await turnOfEvents();
  await journal.succeed();
  assert.is(((await refusal) as Fault).reason, 'deadline_exceeded');
  await Promise.allSettled([answer, settled]);
  assert.is((await settled).verdict, 'settled');
});

for (const group of [reports, asked, late]) group.run();
