import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { AdmitCall } from '#grpc/limiter-messages';
import {
  admission,
  custom,
  limiterUnderTest,
  meterUnderTest,
  record,
} from '#test/limiter/limiter-fixture';

/** An admission for a member, with a session instead of a key. */
const ofMember = (callId: number, cycles = 1): AdmitCall => ({
  ...admission(callId, cycles, 'ses_0000000000000001'),
  isOfMember: true,
});

const members = suite('for admissions of members, a meter');

members('needs no key, and counts minute and month as usual', () => {
  const { meter, turn, admit } = meterUnderTest(custom(3, 2));
  const ask = (callId: number) => meter.answer(ofMember(callId), turn()).verdict;
  assert.is(admit(1).verdict, 'admitted');
  assert.equal([ask(2), ask(3), ask(4)], ['admitted', 'quota_exceeded', 'rate_limited']);
  assert.is(admit(5).verdict, 'rate_limited');
});

members('refuses members of a suspended account', () => {
  const { meter, turn, refresh } = meterUnderTest(custom(3, 100));
  refresh(record(custom(3, 100), { status: 'suspended' }));
  assert.is(meter.answer(ofMember(1), turn()).verdict, 'account_suspended');
});

members('refuses members of a deleted account', () => {
  const { meter, turn, refresh } = meterUnderTest(custom(3, 100));
  refresh(undefined);
  assert.equal(meter.answer(ofMember(1), turn()), {
    ...{ verdict: 'unknown_key', allowance: undefined },
  });
});

members('of release 1.0, which ignores the member field, admits nobody', () => {
  const { meter, turn } = meterUnderTest(custom(3, 100));
  const { isOfMember: _, ...known } = ofMember(1);
  assert.is(meter.answer(known, turn()).verdict, 'unknown_key');
});

members('records no key use', async () => {
  const { limiter, id, keyUses } = await limiterUnderTest(custom(3, 100));
  const call = { ...ofMember(1), accountId: id, address: '1.1.1.1', client: 'a lie' };
  assert.is((await limiter.client.ask(call)).verdict, 'admitted');
  await limiter[Symbol.asyncDispose]();
  assert.equal(await keyUses.find(id), []);
});

members.run();
