import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { AdmissionCall } from '#edge/callers/admission';
import {
  admissionUnderTest,
  admitting,
  CALL,
  noNumbers,
  unknown,
} from '#test/edge/admission/admission-fixture';

/** An admission that refuses every key at first, with functions that send invented keys. */
function scene(isHeard = true) {
  const opened = admissionUnderTest(unknown, isHeard);
  let made = 0;
  const madeUp = (address = CALL.address): Partial<AdmissionCall> => {
    made += 1;
    return { address, caller: { accountId: 'NoNoNoNoNoNo', credential: `made up ${made}` } };
  };
  return {
    ...opened,
    madeUp,
    /** Sends `keys` different keys. Returns how many keys the limiter looked up. */
    async guess(keys: number, address?: string) {
      const before = opened.asked.length;
      for (let sent = 0; sent < keys; sent += 1) await opened.admit(madeUp(address));
      return opened.asked.length - before;
    },
    notLookedUp: () => opened.scraped(/^edge_unknown_keys_not_looked_up_total (\d+)$/m),
  };
}

const barred = suite('after 30 unknown keys from one address within a minute');

/** An edge that has just blocked the address. */
async function guessed() {
  const opened = scene();
  assert.is(await opened.guess(30), 30);
  return opened;
}

barred('five more keys are looked up in a second, and other addresses are unaffected', async () => {
  const { guess } = await guessed();
  assert.is(await guess(100), 5);
  assert.is(await guess(10, '2.2.2.2'), 10);
});

barred('the next key is refused for a second, without details about key or account', async () => {
  const { admit, madeUp, guess, notLookedUp } = await guessed();
  await guess(5);
  const { refusal, headers, allowance } = await admit(madeUp());
  assert.equal(
    [refusal?.code, refusal?.reason, refusal?.retryAfterS, allowance],
    ['service_unavailable', 'too_many_refused_keys', 1, undefined],
  );
  assert.equal(headers, noNumbers(60));
  assert.is(await notLookedUp(), 1);
});

barred('the body of a call that would be refused is not read', async () => {
  const { clock, admission, guess, notLookedUp } = await guessed();
  const caller = { accountId: 'NoNoNoNoNoNo', credential: 'one more' };
  const unasked = (ip: string) => admission.refusalUnasked(caller, { ip })?.reason;
  assert.is(unasked('1.1.1.1'), undefined, 'five more keys may be looked up');
  await guess(5);
  assert.is(unasked('1.1.1.1'), 'too_many_refused_keys');
  assert.is(unasked('2.2.2.2'), undefined);
  assert.is(await notLookedUp(), 1);
  clock.advance(1_000);
  assert.is(unasked('1.1.1.1'), undefined);
});

barred('a key that was admitted before is still admitted', async () => {
  const { limiter, admission, admit, guess } = scene();
  limiter.answering = admitting;
  await admit();
  limiter.answering = unknown;
  await guess(100);
  limiter.answering = admitting;
  assert.is(admission.refusalUnasked(CALL.caller, { ip: CALL.address }), undefined);
  assert.is((await admit()).refusal, undefined);
});

barred('an operator is notified once', async () => {
  const { warned, guess } = await guessed();
  await guess(100);
  assert.equal(warned, [['barred', '1.1.1.1']]);
});

barred('only five more keys are looked up, even without an operator to notify', async () => {
  const { guess } = scene(false);
  assert.is(await guess(100), 35);
});

const silent = suite('when the limiter does not answer');

silent('no address is blocked', async () => {
  const { limiter, guess } = scene();
  limiter.answering = () => Promise.reject(new Error('the limiter is away'));
  assert.is(await guess(100), 100);
});

const shared = suite('an address with calls from many accounts');

shared('is reported at the 32nd account, and not again later for the same accounts', async () => {
  const { clock, limiter, warned, admit } = scene();
  limiter.answering = admitting;
  const callAll = async (accounts: number) => {
    for (let n = 0; n < accounts; n += 1) {
      await admit({ caller: { accountId: `account ${n}`, credential: `key ${n}` } });
    }
  };
  await callAll(31);
  assert.equal(warned, []);
  await callAll(40);
  clock.advance(3_600_000);
  await callAll(40);
  assert.equal(warned, [['shared', '1.1.1.1', 32]]);
});

shared('is served in the same way without an operator to notify', async () => {
  const { limiter, admit } = scene(false);
  limiter.answering = admitting;
  for (let n = 0; n < 40; n += 1) {
    const caller = { accountId: `account ${n}`, credential: `key ${n}` };
    assert.is((await admit({ caller })).refusal, undefined);
  }
});

for (const each of [barred, silent, shared]) each.run();
