import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { digestOf } from '#accounts/api-key';
import { describeCaller } from '#limiter/calls';
import { memoryAccountStore } from '#storage/memory/accounts';
import { admission, custom, limiterUnderTest, record } from '#test/limiter/limiter-fixture';
import { ManualClock } from '#test/support/manual-clock';

const NOW_MS = 1_000_000;

const described = suite('the description of a caller');

described("has the account's plan and the caller's key, without digest or name", () => {
  const found = record({ plan: 'pro' });
  const other = { id: 'key_2', digest: digestOf('other'), scope: 'read', createdAtMs: 0 } as const;
  const keys = [...found.keys, { ...other, expiresAtMs: NOW_MS + 1 }];
  const of = (key: string) => describeCaller({ ...found, keys }, digestOf(key), NOW_MS);
  assert.equal(of('key'), {
    plan: 'pro',
    keyId: 'key_1',
    keyScope: 'full',
    keyExpiresAtMs: undefined,
  });
  const keyExpiresAtMs = NOW_MS + 1;
  assert.equal(of('other'), { plan: 'pro', keyId: 'key_2', keyScope: 'read', keyExpiresAtMs });
});

described('is missing for a key that is unknown, expired or revoked', () => {
  const { account, keys } = record({ plan: 'pro' });
  const of = (change: object) =>
    describeCaller(
      { account, keys: keys.map((key) => ({ ...key, ...change })) },
      digestOf('key'),
      NOW_MS,
    );
  assert.ok(of({}));
  assert.is(of({ digest: digestOf('other') }), undefined);
  assert.is(of({ expiresAtMs: NOW_MS }), undefined);
  assert.is(of({ revokedAtMs: NOW_MS + 5 }), undefined);
  assert.is(describeCaller(undefined, digestOf('key'), NOW_MS), undefined);
});

const asked = suite("an admission that requests the caller's description");

/**
 * A limiter with a limit of 2 requests per minute. `reads()` returns the number of account reads.
 */
async function limiterOfTwo() {
  const accounts = memoryAccountStore(new ManualClock());
  let reads = 0;
  const counting = {
    ...accounts,
    find(id: string) {
      reads += 1;
      return accounts.find(id);
    },
  };
  const { limiter, id, key } = await limiterUnderTest(custom(2, 10), { accounts: counting });
  const ask = (isCallerDescribed: boolean, by = key) =>
    limiter.client.ask({ ...admission(1, 0, digestOf(by), 'read', id), isCallerDescribed });
  return { limiter, id, ask, reads: () => reads };
}

asked('gets the description in its answer, and other admissions do not', async () => {
  const { limiter, ask, id } = await limiterOfTwo();
  await using _ = limiter;
  assert.equal(Object.keys(await ask(false)), ['verdict', 'allowance']);
  const { verdict, allowance, caller } = await ask(true);
  assert.equal([verdict, allowance?.requestsRemaining], ['admitted', 0]);
  const [own] = (await limiter.admin.listKeys(id)).map(({ record }) => record);
  assert.equal(caller, {
    plan: 'enterprise',
    keyId: own?.id,
    keyScope: 'full',
    keyExpiresAtMs: undefined,
  });
});

asked('reads the account only if the call is admitted', async () => {
  const { limiter, ask, reads } = await limiterOfTwo();
  await using _ = limiter;
  await ask(false);
  const before = reads();
  assert.is((await ask(true, 'unknown')).verdict, 'unknown_key');
  await ask(true);
  assert.is(reads(), before + 1);
  const refused = await ask(true);
  assert.equal([refused.verdict, refused.caller], ['rate_limited', undefined]);
  assert.is(reads(), before + 1);
});

described.run();
asked.run();
