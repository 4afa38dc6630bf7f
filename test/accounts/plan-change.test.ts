import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Account } from '#accounts/account';
import { limitsOf } from '#accounts/plan';
import { accountAt, withPlan } from '#accounts/plan-change';

const AT_MS = 1_000;

const FREE: Account = {
  id: 'a',
  name: 'account a',
  plan: 'free',
  status: 'active',
  limits: limitsOf({ plan: 'free' }),
  createdAtMs: 1,
};

const PRO = { plan: 'pro', limits: limitsOf({ plan: 'pro' }) } as const;
const LATER = { plan: 'indie', limits: limitsOf({ plan: 'indie' }), atMs: AT_MS } as const;

const change = suite('an account at a given time');

change('has the earlier plan until a scheduled plan change, and then the later plan', () => {
  const account = withPlan(FREE, { ...PRO, later: LATER });
  assert.is(accountAt(account, AT_MS - 1), account);
  const { plan, limits } = LATER;
  for (const nowMs of [AT_MS, AT_MS + 1e12]) {
    assert.equal(accountAt(account, nowMs), { ...FREE, plan, limits });
  }
});

change('drops the scheduled change when it gets another plan', () => {
  const scheduled = withPlan(FREE, { ...PRO, later: LATER });
  assert.equal(withPlan(scheduled, PRO), { ...FREE, ...PRO });
  assert.is(accountAt(withPlan(scheduled, PRO), AT_MS).plan, 'pro');
});

change('ignores the scheduled change if an older release has set another plan', () => {
  const scheduled = withPlan(FREE, { ...PRO, later: LATER });
  const given = { plan: 'enterprise', limits: { ...PRO.limits, instances: 5 } } as const;
  const expected = { ...FREE, ...given };
  for (const nowMs of [0, AT_MS]) {
    assert.equal(accountAt({ ...scheduled, ...given }, nowMs), expected);
  }
});

change('is returned as the same object if no change is scheduled', () => {
  assert.is(accountAt(FREE, AT_MS), FREE);
});

change.run();
