import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  APPENDS_IN_FLIGHT_MAX,
  GROUP_BYTES_MAX,
  GROUP_LINGER_MS,
  GROUP_RECORDS_MAX,
} from '#actor-runtime/actor-bounds';
import { newScene } from '#test/actor-runtime/commit-log/commit-log-fixture';
import { lineOf } from '#test/actor-runtime/commit-log/journal-records';
import { pass } from '#test/support/passing';
import { stateOf, turnOfEvents } from '#test/support/settled';

const groups = suite('records that callers wait for');

groups(
  'gather while two appends are in flight, and are then appended together, in order',
  async () => {
    const { journal, log, addVersions } = newScene();
    for (const version of [1, 2]) {
      addVersions(version);
      await turnOfEvents();
    }
    addVersions(3, 4, 5);
    await turnOfEvents();
    assert.equal(journal.sizes, [1, 1]);
    await journal.succeed();
    assert.equal(
      journal.groups.map(({ records }) => records.map(({ version }) => version)),
      [[1], [2], [3, 4, 5]],
    );
    assert.ok(log.isDurable(1));
    assert.not(log.isDurable(2));
    await journal.succeedAll();
    assert.ok(log.isDurable(5));
  },
);

groups(
  'are appended together if they are added synchronously, without an append in flight',
  async () => {
    const { journal, addVersions } = newScene();
    addVersions(1, 2);
    queueMicrotask(() => addVersions(3));
    assert.equal(journal.sizes, []);
    await turnOfEvents();
    assert.equal(journal.sizes, [2, 1]);
  },
);

groups('are appended in groups of at most 4,096', async () => {
  const { journal, add } = newScene();
  await add(1);
  await add(GROUP_RECORDS_MAX + 5);
  for (let i = 0; i < 3; i += 1) await journal.succeed();
  assert.equal(journal.sizes, [1, GROUP_RECORDS_MAX, 5]);
});

groups('are appended in groups of at most 512 KiB, or alone if larger', async () => {
  const { journal, add } = newScene();
  await add(1);
  const envelope = Buffer.byteLength(lineOf({ event: '' }));
  const half = GROUP_BYTES_MAX / 2 - envelope;
  await add(3, 'x'.repeat(half));
  await add(1, 'x'.repeat(GROUP_BYTES_MAX * 2));
  // In characters, each record has half of the maximum size. In bytes, it exceeds half by 1.
  await add(2, `${'x'.repeat(half - 1)}ü`);
  for (let i = 0; i < 6; i += 1) await journal.succeed();
  assert.equal(journal.sizes, [1, 2, 1, 1, 1, 1]);
});

groups('end their wait when they are durable, even if later records are not', async () => {
  const { journal, log, add } = newScene();
  const first = log.whenDurable(await add(1));
  const second = log.whenDurable(await add(1));
  await journal.succeed();
  assert.equal([await stateOf(first), await stateOf(second)], [{ value: undefined }, 'pending']);
});

const unhurried = suite('records that no caller waits for');

unhurried('gather for 10 ms and are appended together', async () => {
  const { clock, journal, log } = newScene();
  log.add(lineOf({ version: 1 }));
  await pass(clock, GROUP_LINGER_MS - 1, 1);
  log.add(lineOf({ version: 2 }));
  const isNoticed = log.whenNoticed(log.added);
  assert.is(await stateOf(isNoticed), 'pending');
  assert.equal(journal.sizes, []);
  await pass(clock, 1, 1);
  assert.equal(journal.sizes, [2]);
  assert.is(await stateOf(isNoticed), 'pending');
  await journal.succeed();
  assert.equal(await stateOf(isNoticed), { value: undefined });
});

unhurried('are appended immediately when a caller then waits for one of them', async () => {
  const { journal, log } = newScene();
  for (const version of [1, 2]) log.add(lineOf({ version }));
  await turnOfEvents();
  log.whenDurable(1).catch(() => undefined);
  await turnOfEvents();
  assert.equal(journal.sizes, [2]);
});

unhurried('gather behind an append in flight, and continue to gather after its end', async () => {
  const { clock, journal, log, add } = newScene();
  await add(1);
  log.add(lineOf());
  log.whenDurable(1).catch(() => undefined);
  await journal.succeed();
  assert.equal(journal.sizes, [1]);
  await pass(clock, GROUP_LINGER_MS, 1);
  assert.equal(journal.sizes, [1, 1]);
});

unhurried('are appended when an append that took longer than 10 ms ends', async () => {
  const { clock, journal, log, add } = newScene();
  for (let i = 0; i < APPENDS_IN_FLIGHT_MAX; i += 1) await add(1);
  log.add(lineOf());
  await pass(clock, GROUP_LINGER_MS, 1);
  assert.equal(journal.sizes, [1, 1]);
  await journal.succeed();
  assert.equal(journal.sizes, [1, 1, 1]);
});

unhurried('gather for 10 ms again after a group was appended', async () => {
  const { clock, journal, log } = newScene();
  log.add(lineOf());
  await pass(clock, GROUP_LINGER_MS / 2, 1);
  log.add(lineOf());
  await pass(clock, GROUP_LINGER_MS / 2, 1);
  await journal.succeed();
  await pass(clock, 2, 1);
  log.add(lineOf());
  await pass(clock, GROUP_LINGER_MS - 1, 1);
  assert.equal(journal.sizes, [2]);
  await pass(clock, 1, 1);
  assert.equal(journal.sizes, [2, 1]);
});

unhurried('are reported immediately if they are durable already', async () => {
  const { journal, log, add } = newScene();
  const offset = await add(1);
  await journal.succeed();
  assert.equal(await stateOf(log.whenNoticed(offset)), { value: undefined });
});

const beat = suite('the heartbeat append of a quiet journal');

beat('is an empty group, and is skipped while other appends are in flight', async () => {
  const { journal, log, add, clock } = newScene();
  log.beat(750);
  log.beat(750);
  assert.equal(journal.sizes, [0]);
  await journal.succeed();
  clock.advance(749);
  log.beat(750);
  assert.equal(journal.sizes, [0]);
  clock.advance(1);
  log.beat(750);
  assert.equal(journal.sizes, [0, 0]);
  await add(1);
  await journal.succeed();
  log.beat(0);
  assert.equal(journal.sizes, [0, 0, 1]);
});

for (const group of [groups, unhurried, beat]) group.run();
