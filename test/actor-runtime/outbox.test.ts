import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  NOTICE_RETRY_MS_MIN,
  NOTICES_LINGER_MS,
  NOTICES_PER_CALL_MAX,
  RECEIVER_AWAY_MS_MAX,
  RECEIVER_BYTES_MAX,
  UNSENT_WAIT_MS_MAX,
} from '#actor-runtime/actor-bounds';
import { Outbox, type SentNotice } from '#actor-runtime/outbox';
import { Fault } from '#errors/fault';
import { ManualClock } from '#test/support/manual-clock';
import { pass } from '#test/support/passing';
import { faultOf, stateOf, turnOfEvents } from '#test/support/settled';

/** An outbox with a durable log, whose calls a test answers. */
function newScene() {
  const power = { isOn: true };
  const clock = new ManualClock();
  const calls: { to: string; versions: string[]; end: (fault?: Fault) => void }[] = [];
  const durable = { offset: Number.POSITIVE_INFINITY, wake: (): void => undefined };
  const bugs: unknown[] = [];
  const counts = { sent: 0, failed: 0 };
  const outbox = new Outbox({
    clock,
    isOn: () => power.isOn,
    onBug: (error) => bugs.push(error),
    metrics: {
      sent: () => {
        counts.sent += 1;
      },
      failed: () => {
        counts.failed += 1;
      },
    },
    log: {
      async whenNoticed(offset) {
        while (offset > durable.offset) {
          await new Promise<void>((resolve) => {
            durable.wake = resolve;
          });
        }
      },
    },
    send: (to, notices) => {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const end = (fault?: Fault) => (fault === undefined ? resolve() : reject(fault));
      calls.push({ to, versions: notices.map(nameOf), end });
      return promise;
    },
  });
  const add = (actorId: string, version: number, { to = 'acc', offset = 1, bytes = 10 } = {}) =>
    outbox.add(actorId, version, offset, { to, atMs: 0, body: [], bytes });
  return { power, clock, calls, durable, bugs, counts, outbox, add };
}

function waitIn(outbox: Outbox, actorId: string): Promise<void> {
  const sent = outbox.whenSent(actorId);
  if (sent === undefined) throw new Error('nothing is unsent');
  sent.catch(() => undefined);
  return sent;
}

const nameOf = ({ actorId, version }: SentNotice) => `${actorId}${version}`;
const unavailable = () => new Fault('service_unavailable', 'away');

const sending = suite('an outbox');

sending('gathers notices, and sends those of a receiver in order and in one call', async () => {
  const { clock, calls, add } = newScene();
  add('a', 1);
  add('b', 1);
  add('a', 2);
  add('c', 1, { to: 'other' });
  await turnOfEvents();
  assert.equal(calls.length, 0);
  await pass(clock, NOTICES_LINGER_MS);
  assert.equal(
    calls.map(({ to, versions }) => [to, versions]),
    [
      ['acc', ['a1', 'b1', 'a2']],
      ['other', ['c1']],
    ],
  );
});

sending('has one call per receiver in flight, and repeats a failed call unchanged', async () => {
  const { clock, calls, counts, add } = newScene();
  add('a', 1);
  await pass(clock, NOTICES_LINGER_MS);
  add('a', 2);
  await pass(clock, 1_000);
  assert.is(calls.length, 1, 'the second notice waits for the first call');
  calls[0]?.end(unavailable());
  await pass(clock, NOTICE_RETRY_MS_MIN);
  assert.equal(calls[1]?.versions[0], 'a1', 'the failed notice goes first again');
  assert.is(counts.failed, 1);
});

sending('sends nothing before its record is durable', async () => {
  const { clock, calls, durable, add } = newScene();
  durable.offset = 6;
  add('a', 1, { offset: 7 });
  await pass(clock, 1_000);
  assert.is(calls.length, 0);
  durable.offset = 7;
  durable.wake();
  await turnOfEvents();
  assert.is(calls.length, 1);
});

sending('splits a long queue', async () => {
  const { clock, calls, add } = newScene();
  for (let n = 1; n <= NOTICES_PER_CALL_MAX + 1; n += 1) add('a', n);
  await pass(clock, NOTICES_LINGER_MS);
  assert.is(calls[0]?.versions.length, NOTICES_PER_CALL_MAX);
  calls[0]?.end();
  await turnOfEvents();
  assert.equal(calls[1]?.versions, [`a${NOTICES_PER_CALL_MAX + 1}`]);
});

sending('reports a refusal that is a bug, and keeps the notice', async () => {
  const { clock, calls, bugs, outbox, add } = newScene();
  add('a', 1);
  await pass(clock, NOTICES_LINGER_MS);
  calls[0]?.end(new Fault('internal', 'broken'));
  await pass(clock, NOTICE_RETRY_MS_MIN);
  assert.is(bugs.length, 1);
  assert.is(calls.length, 2);
  assert.ok(outbox.has('a'));
});

sending('drops notices while receivers do not understand them', async () => {
  const { power, clock, calls, outbox, add } = newScene();
  add('a', 1);
  power.isOn = false;
  add('b', 1);
  await pass(clock, 1_000);
  assert.equal(
    [calls.length, outbox.has('a'), outbox.has('b'), outbox.bytes],
    [0, false, false, 0],
  );
});

const waiting = suite('a wait for unsent notices');

waiting('ends the gathering, and ends with the confirmation', async () => {
  const { calls, outbox, add } = newScene();
  assert.is(outbox.whenSent('a'), undefined);
  add('a', 1);
  const sent = waitIn(outbox, 'a');
  await turnOfEvents();
  assert.is(calls.length, 1, 'no time passes');
  assert.is(await stateOf(sent), 'pending');
  calls[0]?.end();
  assert.equal(await stateOf(sent), { value: undefined });
  assert.equal([outbox.has('a'), outbox.bytes, outbox.ageMs], [false, 0, 0]);
});

waiting('does not wait for later notices', async () => {
  const { calls, outbox, add } = newScene();
  add('a', 1);
  const sent = waitIn(outbox, 'a');
  await turnOfEvents();
  add('a', 2);
  calls[0]?.end();
  assert.equal(await stateOf(sent), { value: undefined });
  assert.ok(outbox.has('a'));
});

waiting('ends with service_unavailable after ten seconds', async () => {
  const { clock, outbox, add } = newScene();
  add('a', 1);
  const sent = waitIn(outbox, 'a');
  await pass(clock, UNSENT_WAIT_MS_MAX, 1_000);
  assert.is((await faultOf(sent)).code, 'service_unavailable');
});

const bound = suite('the bound of an outbox');

bound('refuses the receiver that is full, and no other', () => {
  const { outbox, add } = newScene();
  add('a', 1, { bytes: RECEIVER_BYTES_MAX });
  assert.throws(() => outbox.assertRoom('acc'), /too many changes/);
  outbox.assertRoom('other');
});

// The records of actors with unsent notices fill the tail, and a full tail stops all receivers.
bound('refuses a receiver that fails for more than twenty seconds, and no other', async () => {
  const { clock, calls, outbox, add } = newScene();
  add('a', 1);
  await pass(clock, NOTICES_LINGER_MS);
  for (let ms = 0; ms <= RECEIVER_AWAY_MS_MAX; ms += 2_000) {
    outbox.assertRoom('acc');
    calls.at(-1)?.end(unavailable());
    await pass(clock, 2_000);
  }
  assert.throws(() => outbox.assertRoom('acc'), /too many changes/);
  outbox.assertRoom('other');
  calls.at(-1)?.end();
  await turnOfEvents();
  outbox.assertRoom('acc');
});

bound('is empty after the end, which also ends waits and calls', async () => {
  const { clock, calls, outbox, add } = newScene();
  add('a', 1);
  outbox.end();
  add('a', 2);
  await pass(clock, 1_000);
  assert.equal([calls.length, outbox.bytes], [0, 0]);
});

for (const group of [sending, waiting, bound]) group.run();
