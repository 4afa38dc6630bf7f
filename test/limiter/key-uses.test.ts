import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { digestOf } from '#accounts/api-key';
import { Fault } from '#errors/fault';
import { KeyUses } from '#limiter/keys/uses';
import type { KeyUse } from '#storage/ports/accounts';
import { admission, custom, limiterUnderTest } from '#test/limiter/limiter-fixture';
import { ManualClock } from '#test/support/manual-clock';
import { stateOf, turnOfEvents } from '#test/support/settled';

const MINUTE = Date.UTC(2026, 0, 15, 12) / 60_000;

const FROM = { address: '192.0.2.1', client: 'curl/8.5.0' };

const uses = suite('the use of a key');

uses('is recorded within a second, with minute, address and client', async () => {
  await using scene = await inUse();
  await scene.admit(FROM);
  await scene.pass(1_000);
  const digest = digestOf(scene.key);
  assert.equal(await scene.keyUses.find(scene.id), [{ digest, minute: MINUTE, ...FROM }]);
});

uses('is recorded once for many calls, with the newest values', async () => {
  await using scene = await inUse();
  for (const client of ['a', 'b', 'c']) await scene.admit({ ...FROM, client });
  await scene.pass(1_000);
  const [use] = await scene.keyUses.find(scene.id);
  assert.is(use?.client, 'c');
});

uses('is shown with the key', async () => {
  await using scene = await inUse();
  const lastUse = async () => (await scene.limiter.admin.listKeys(scene.id))[0]?.lastUse;
  assert.is(await lastUse(), undefined);
  await scene.admit({ address: '::ffff:192.0.2.1', client: '' });
  await scene.pass(1_000);
  const digest = digestOf(scene.key);
  const expected = { digest, minute: MINUTE, address: '192.0.2.1', client: undefined };
  assert.equal(await lastUse(), expected);
});

uses('is not recorded for a call without a client, or a refused call', async () => {
  await using scene = await inUse();
  await scene.admit({ address: '192.0.2.1' });
  const ask = (keyDigest: string) =>
    scene.limiter.client.ask({ ...admission(1, 0, keyDigest, 'full', scene.id), ...FROM });
  await ask(digestOf('another'));
  await scene.limiter.admin.setStatus(scene.id, 'suspended');
  await scene.admit(FROM);
  await scene.pass(5_000);
  assert.equal(await scene.keyUses.find(scene.id), []);
});

uses('is stored when the limiter shuts down', async () => {
  const scene = await inUse();
  await scene.admit(FROM);
  await scene[Symbol.asyncDispose]();
  assert.is((await scene.keyUses.find(scene.id)).length, 1);
});

const notes = suite('the queue of key uses');

notes('is stored at a bounded rate, and drops uses beyond 10,000', async () => {
  const { clock, stored, uses: noted } = notesUnderTest();
  for (let i = 0; i < 10_001; i += 1) noted.note(callOf(String(i)));
  noted.note({ ...callOf('0'), client: 'newest' });
  for (const count of [256, 512]) {
    clock.advance(1_000);
    await turnOfEvents();
    assert.is(stored.length, count);
  }
  for (let second = 0; second < 60; second += 1) {
    clock.advance(1_000);
    await turnOfEvents();
  }
  assert.is(stored.length, 10_000);
  assert.is(stored.find(({ digest }) => digest === '0')?.client, 'newest');
});

notes('does not retry uses that the store refused, and stores later uses', async () => {
  const scene = notesUnderTest();
  scene.answer = async () => {
    throw new Fault('service_unavailable', 'the store is down');
  };
  scene.uses.note(callOf('a'));
  scene.clock.advance(1_000);
  await turnOfEvents();
  scene.answer = async () => undefined;
  scene.uses.note(callOf('b'));
  scene.clock.advance(1_000);
  await turnOfEvents();
  assert.equal(
    scene.stored.map(({ digest }) => digest),
    ['a', 'b'],
  );
});

notes('waits 2 s for a store that does not answer, and 1 s at shutdown', async () => {
  const scene = notesUnderTest();
  scene.answer = () => new Promise(() => undefined);
  scene.uses.note(callOf('a'));
  scene.clock.advance(1_000);
  scene.uses.note(callOf('b'));
  scene.clock.advance(1_999);
  await turnOfEvents();
  assert.is(scene.stored.length, 1, 'only one write at a time');
  scene.clock.advance(1);
  await turnOfEvents();
  scene.clock.advance(1_000);
  await turnOfEvents();
  assert.is(scene.stored.length, 2);
  scene.uses.note(callOf('c'));
  const ending = scene.uses[Symbol.asyncDispose]();
  assert.is(await stateOf(ending), 'pending');
  scene.clock.advance(1_000);
  await ending;
  scene.uses.note(callOf('d'));
  scene.clock.advance(9_000);
  assert.equal(
    scene.stored.map(({ digest }) => digest),
    ['a', 'b', 'c'],
  );
});

for (const each of [uses, notes]) each.run();

/** A limiter with one key, and calls with caller data. */
async function inUse() {
  const fixture = await limiterUnderTest(custom(100, 100));
  const { limiter, clock, id, key } = fixture;
  return {
    ...fixture,
    admit: async (caller: { address: string; client?: string }) =>
      limiter.client.ask({ ...admission(1, 0, digestOf(key), 'full', id), ...caller }),
    async pass(ms: number) {
      clock.advance(ms);
      await turnOfEvents();
    },
    [Symbol.asyncDispose]: () => limiter[Symbol.asyncDispose](),
  };
}

function notesUnderTest() {
  const clock = new ManualClock();
  const stored: KeyUse[] = [];
  const scene = {
    clock,
    stored,
    /** A test can replace this function. */
    answer: async (): Promise<void> => undefined,
    uses: new KeyUses(
      {
        async note(_accountId, use) {
          stored.push(use);
          await scene.answer();
        },
      },
      clock,
    ),
  };
  return scene;
}

function callOf(digest: string) {
  return { ...admission(1, 0, digest), ...FROM };
}
