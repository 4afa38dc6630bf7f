import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { ApiKeyRecord } from '#accounts/account';
import { digestOf } from '#accounts/api-key';
import { Fault } from '#errors/fault';
import { withDisabled, withEnabled, withRevoked, withRotated } from '#limiter/keys/changes';
import { memoryAccountStore } from '#storage/memory/accounts';
import type { AccountStore, KeyChange } from '#storage/ports/accounts';
import { admission, custom, limiterUnderTest } from '#test/limiter/limiter-fixture';
import { revokeKey } from '#test/storage/contracts/stored-keys';
import { ManualClock } from '#test/support/manual-clock';
import { faultIn, turnOfEvents } from '#test/support/settled';

const SECOND_MS = 1_000;

/** Idle age at which a meter is evicted, as in production. */
const IDLE_MS = 900 * SECOND_MS;

/**
 * Asserts that the next call waits until the account is read, and is then refused with an unknown
 * key.
 */
async function assertUnknownOnceRead({
  admit,
  accounts,
}: Pick<Awaited<ReturnType<typeof accountInUse>>, 'admit' | 'accounts'>): Promise<void> {
  const waiting = admit(3, 0);
  await turnOfEvents();
  accounts.release();
  assert.is((await waiting).verdict, 'unknown_key');
}

const revoked = suite('a revoked key, if the announcement of the revocation is lost,');

for (const gapS of [1, 7, 29, 30.5, 60, 300, 899]) {
  revoked(`works for at most 30 s if calls are ${gapS} s apart`, async () => {
    await using scene = await accountInUse();
    const { id, record, accounts, clock, admit } = scene;
    // Start a background read of the account, just before the change.
    await scene.pass(26 * SECOND_MS);
    await admit(2, 0);
    await turnOfEvents();
    assert.is(scene.reads(), 2);
    const revokedAtMs = clock.monotonicMs();
    await revokeKey(accounts, id, record.id, clock.wallMs());
    for (let ageMs = 0; ageMs <= 2_000 * SECOND_MS; ageMs = clock.monotonicMs() - revokedAtMs) {
      await scene.pass(gapS * SECOND_MS);
      const { verdict } = await admit(3, 0);
      if (clock.monotonicMs() - revokedAtMs <= 30 * SECOND_MS) continue;
      assert.is(verdict, 'unknown_key', `${clock.monotonicMs() - revokedAtMs} ms later`);
    }
  });
}

/** Key changes that are stored without an announcement. */
const CHANGES = {
  revoked: (keys, id, nowMs) => withRevoked(keys, id, nowMs),
  disabled: (keys, id, nowMs) => withDisabled(keys, id, nowMs),
  rotated: (keys, id, nowMs) =>
    withRotated(keys, id, { id: 'key_2', digest: 'd' }, { graceMs: 0, nowMs }),
} satisfies Record<string, Decide>;

type Decide = (keys: readonly ApiKeyRecord[], id: string, nowMs: number) => KeyChange<unknown>;

const unheard = suite('a changed key, if the announcement of the change is lost,');

for (const [what, decide] of Object.entries(CHANGES)) {
  unheard(`is refused 30 s after it was ${what}`, async () => {
    await using scene = await accountInUse();
    const { id, record, accounts, clock, admit } = scene;
    await scene.pass(26 * SECOND_MS);
    await admit(2, 0);
    await turnOfEvents();
    await accounts.changeKeys<unknown>(id, (keys) => decide(keys, record.id, clock.wallMs()));
    await scene.pass(30 * SECOND_MS + 1);
    assert.is((await admit(3, 0)).verdict, 'unknown_key');
  });
}

unheard('is accepted 30 s after it was enabled', async () => {
  await using scene = await accountInUse();
  const { id, record, accounts, clock, admit, limiter } = scene;
  await limiter.admin.disableKey(id, record.id);
  assert.is((await admit(2, 0)).verdict, 'unknown_key');
  await accounts.changeKeys(id, (keys) => withEnabled(keys, record.id, clock.wallMs()));
  await scene.pass(30 * SECOND_MS + 1);
  assert.is((await admit(3, 0)).verdict, 'admitted');
});

revoked('is refused by the first call more than 30 s after the last read', async () => {
  await using scene = await accountInUse();
  const { id, record, accounts, clock, admit } = scene;
  accounts.isHeld = true;
  await scene.pass(30 * SECOND_MS);
  assert.is(
    (await admit(2, 0)).verdict,
    'admitted',
    'a hanging background read does not block calls',
  );
  await revokeKey(accounts, id, record.id, clock.wallMs());
  await scene.pass(1);
  await assertUnknownOnceRead(scene);
});

revoked('is refused after 30 s even if a slow read missed the revocation', async () => {
  await using scene = await accountInUse();
  const { id, record, accounts, clock } = scene;
  await scene.beginRead();
  const begunAtMs = clock.monotonicMs();
  await scene.pass(3 * SECOND_MS);
  await accounts.answerOnce();
  await revokeKey(accounts, id, record.id, clock.wallMs());
  await scene.pass(begunAtMs + 30 * SECOND_MS + 1 - clock.monotonicMs());
  await assertUnknownOnceRead(scene);
});

revoked('is refused after 30 s even if its meter was loading during the revocation', async () => {
  await using scene = await accountInUse();
  const { id, record, accounts, clock, admit } = scene;
  await scene.leave();
  accounts.isHeld = true;
  const first = scene.settle(1, 0);
  await turnOfEvents();
  const begunAtMs = clock.monotonicMs();
  await scene.pass(4 * SECOND_MS);
  await accounts.answerOnce();
  await first;
  await revokeKey(accounts, id, record.id, clock.wallMs());
  await scene.pass(begunAtMs + 30 * SECOND_MS + 1 - clock.monotonicMs());
  const waiting = admit(2, 0);
  await turnOfEvents();
  accounts.release();
  assert.is((await waiting).verdict, 'unknown_key');
});

const again = suite('an account in use');

again('is read at most 3 times in 38 s with one call per second', async () => {
  await using scene = await accountInUse();
  for (let call = 1; call <= 38; call += 1) {
    await scene.pass(SECOND_MS);
    assert.is((await scene.admit(call, 0)).verdict, 'admitted');
  }
  assert.ok(scene.reads() <= 3, `${scene.reads()} reads`);
  assert.ok(scene.reads() >= 2, `${scene.reads()} reads`);
});

again('never delays a call while the store answers', async () => {
  await using scene = await accountInUse();
  const { limiter, key, id } = scene;
  for (let call = 1; call <= 120; call += 1) {
    await scene.pass(SECOND_MS);
    const answer = limiter.client.ask(admission(call, 0, digestOf(key), 'full', id));
    assert.not.instance(answer, Promise, `after ${call} s`);
  }
});

again(
  'is read in the background 15 to 25 s after its last read, without delaying calls',
  async () => {
    for (let account = 0; account < 8; account += 1) {
      await using scene = await accountInUse();
      const { accounts, admit } = scene;
      await scene.pass(15 * SECOND_MS - 1);
      await admit(2, 0);
      assert.is(scene.reads(), 1);
      accounts.isHeld = true;
      await scene.pass(10 * SECOND_MS + 1);
      assert.is((await admit(3, 0)).verdict, 'admitted');
      assert.is((await admit(4, 0)).verdict, 'admitted');
      assert.is(scene.reads(), 2, 'all calls share one background read');
      accounts.release();
    }
  },
);

again(
  'is refused 30 s after its last read while the store is down, and each call reads it again',
  async () => {
    await using scene = await accountInUse();
    const { accounts, admit } = scene;
    accounts.isDown = true;
    await scene.pass(29 * SECOND_MS);
    assert.is((await admit(2, 0)).verdict, 'admitted');
    await scene.pass(1_001);
    for (const call of [3, 4]) {
      assert.is((await faultIn(admit(call, 0))).code, 'service_unavailable');
    }
    accounts.isDown = false;
    assert.is((await admit(5, 0)).verdict, 'admitted');
  },
);

again('ignores a read that began before the announcement', async () => {
  await using scene = await accountInUse();
  const { id, record, accounts, admit, limiter } = scene;
  await scene.beginRead();
  accounts.isHeld = false;
  await limiter.admin.revokeKey(id, record.id);
  // Only now, the background read returns its outdated result.
  await accounts.answerOnce();
  assert.is((await admit(3, 0)).verdict, 'unknown_key');
});

/**
 * A limiter whose only account was just read by a first call. `reads()` counts this read and all
 * later reads.
 */
async function accountInUse() {
  const accounts = watchedStore();
  const fixture = await limiterUnderTest(custom(1_000_000, 1_000_000), {
    accounts,
    idleAgeMs: IDLE_MS,
  });
  const { clock } = fixture;
  const before = accounts.reads;
  clock.advance(1_234);
  await fixture.admit(1, 0);
  return {
    ...fixture,
    accounts,
    reads: () => accounts.reads - before,
    async pass(ms: number) {
      clock.advance(ms);
      await turnOfEvents();
    },
    /** Makes the second call start a background read, and delays the read's result. */
    async beginRead() {
      await this.pass(26 * SECOND_MS);
      accounts.isHeld = true;
      await fixture.admit(2, 0);
    },
    /** Advances the clock until the idle meter is evicted. */
    async leave() {
      for (let second = 0; second < 1_000; second += 1) {
        clock.advance(SECOND_MS);
        await turnOfEvents();
      }
    },
    async [Symbol.asyncDispose]() {
      accounts.release();
      await fixture.limiter[Symbol.asyncDispose]();
      assert.equal(fixture.bugs, []);
    },
  };
}

/** A store that counts reads, and can fail reads or delay their results. */
function watchedStore() {
  const store = memoryAccountStore(new ManualClock());
  let waiting: (() => void)[] = [];
  const watched = {
    ...store,
    reads: 0,
    isDown: false,
    isHeld: false,
    /** Completes the delayed reads. Later reads are still delayed. */
    async answerOnce() {
      const due = waiting;
      waiting = [];
      for (const answer of due) answer();
      await turnOfEvents();
    },
    release() {
      watched.isHeld = false;
      void watched.answerOnce();
    },
    async find(id: string) {
      watched.reads += 1;
      if (watched.isDown) throw new Fault('service_unavailable', 'the store is down');
      const found = await store.find(id);
      if (watched.isHeld) await new Promise<void>((resolve) => waiting.push(resolve));
      return found;
    },
  };
  return watched satisfies AccountStore;
}

for (const each of [revoked, unheard, again]) each.run();
