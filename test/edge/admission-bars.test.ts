import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { AdmissionCall } from '#edge/callers/admission';
import {
  admissionUnderTest,
  admitting,
  CALL,
  noNumbers,
  unknown,
} from '#test/edge/admission-fixture';

/** An admission, and a caller who makes up keys. */
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
    /** Sends this number of keys, and answers how many the limiter was asked about. */
    async guess(keys: number, address?: string) {
      const before = opened.asked.length;
      for (let sent = 0; sent < keys; sent += 1) await opened.admit(madeUp(address));
      return opened.asked.length - before;
    },
    notLookedUp: () => opened.scraped(/^edge_unknown_keys_not_looked_up_total (\d+)$/m),
  };
}

const barred = suite('once 30 keys from one address were unknown within a minute');

/** An edge that has just barred the address. */
async function guessed() {
  const opened = scene();
  assert.is(await opened.guess(30), 30);
  return opened;
}

barred('five more are asked about in a second, and other addresses are not concerned', async () => {
  const { guess } = await guessed();
  assert.is(await guess(100), 5);
  assert.is(await guess(10, '2.2.2.2'), 10);
});

barred('the next is refused for a second, without a word about key or account', async () => {
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

barred('the body of a call that would be refused need not be read', async () => {
  const { clock, admission, guess, notLookedUp } = await guessed();
  const caller = { accountId: 'NoNoNoNoNoNo', credential: 'one more' };
  const unasked = (ip: string) => admission.refusalUnasked(caller, { ip })?.reason;
  assert.is(unasked('1.1.1.1'), undefined, 'five may be asked about');
  await guess(5);
  assert.is(unasked('1.1.1.1'), 'too_many_refused_keys');
  assert.is(unasked('2.2.2.2'), undefined);
  assert.is(await notLookedUp(), 1);
  clock.advance(1_000);
  assert.is(unasked('1.1.1.1'), undefined);
});

barred('a key that was admitted before is as good as ever', async () => {
  const { limiter, admission, admit, guess } = scene();
  limiter.answering = admitting;
  await admit();
  limiter.answering = unknown;
  await guess(100);
  limiter.answering = admitting;
  assert.is(admission.refusalUnasked(CALL.caller, { ip: CALL.address }), undefined);
  assert.is((await admit()).refusal, undefined);
});

barred('an operator hears of it once', async () => {
  const { warned, guess } = await guessed();
  await guess(100);
  assert.equal(warned, [['barred', '1.1.1.1']]);
});

barred('all is the same where no operator is to hear of it', async () => {
  const { guess } = scene(false);
  assert.is(await guess(100), 35);
});

const silent = suite('where the limiter does not answer');

silent('no address is barred for it', async () => {
  const { limiter, guess } = scene();
  limiter.answering = () => Promise.reject(new Error('the limiter is away'));
  assert.is(await guess(100), 100);
});

const shared = suite('an address that many accounts call from');

shared('is reported at the 32nd, and not again for the same ones an hour later', async () => {
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

shared('has its calls admitted where no operator is to hear of it', async () => {
  const { limiter, admit } = scene(false);
  limiter.answering = admitting;
  for (let n = 0; n < 40; n += 1) {
    const caller = { accountId: `account ${n}`, credential: `key ${n}` };
    assert.is((await admit({ caller })).refusal, undefined);
  }
});

for (const each of [barred, silent, shared]) each.run();
