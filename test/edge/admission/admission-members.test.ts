import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  ALLOWANCE,
  admissionUnderTest,
  admitting,
  unknown,
} from '#test/edge/admission/admission-fixture';

/** A member who is signed in at the console. */
const MEMBER = {
  accountId: 'AdaAdaAdaAda',
  credential: 'ses_0000000000000001',
  member: { userId: 'usr_0000000000000001', sessionId: 'ses_0000000000000001' },
};

const asked = suite('an admission for a console member');

asked('is requested with the session and without a client program', async () => {
  const { admit, asked: calls } = admissionUnderTest(admitting);
  const { refusal, allowance } = await admit({ caller: MEMBER, userAgent: 'a browser' });
  assert.equal([refusal, allowance], [undefined, ALLOWANCE]);
  assert.equal(calls, [
    {
      ...{ kind: 'admit', accountId: MEMBER.accountId, keyDigest: MEMBER.credential },
      ...{ isOfMember: true, callId: 7, callTag: 5, scope: 'full', cycles: 3 },
      ...{ isCallerDescribed: false, address: '1.1.1.1', client: undefined },
    },
  ]);
});

asked('is refused as an upgrade in progress if the limiter is older', async () => {
  const { admit } = admissionUnderTest(unknown);
  const { refusal } = await admit({ caller: MEMBER });
  assert.equal(
    [refusal?.code, refusal?.reason, refusal?.retryAfterS],
    ['service_unavailable', 'upgrade_in_progress', 5],
  );
});

const noted = suite('the memory of refused and admitted keys');

noted('contains no members, however many are refused or admitted', async () => {
  const { admit, admission, limiter, asked: calls, warned } = admissionUnderTest(unknown);
  for (let n = 0; n < 100; n += 1) await admit({ caller: MEMBER });
  assert.is(calls.length, 100, 'the limiter is asked each time');
  limiter.answering = admitting;
  for (let n = 0; n < 100; n += 1) {
    const [accountId, credential] = [`account ${n}`, `ses_${n}`];
    await admit({ caller: { ...MEMBER, accountId, credential } });
  }
  assert.equal(warned, []);
  const key = { accountId: 'NoNoNoNoNoNo', credential: 'a key' };
  assert.is(admission.refusalUnasked(key, { ip: '1.1.1.1' }), undefined);
});

noted('does not block a member at an address whose keys are blocked', async () => {
  const { admit, admission, limiter } = admissionUnderTest(unknown);
  for (let n = 0; n < 40; n += 1) {
    await admit({ caller: { accountId: 'NoNoNoNoNoNo', credential: `made up ${n}` } });
  }
  limiter.answering = admitting;
  assert.is(admission.refusalUnasked(MEMBER, { ip: '1.1.1.1' }), undefined);
  assert.is((await admit({ caller: MEMBER })).refusal, undefined);
});

for (const each of [asked, noted]) each.run();
