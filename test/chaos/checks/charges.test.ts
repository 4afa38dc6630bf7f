import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { checkCharges, checkCountsGoOn } from '#test/chaos/checks/charges';
import { Findings } from '#test/chaos/checks/findings';
import type { Usage } from '#test/chaos/load/account-usage';

const ACCOUNT = 'Acc0unt00001';

function usage(changes: Partial<Usage>): Usage {
  return {
    account_id: ACCOUNT,
    requests_per_minute: 1_000,
    requests_in_window: 0,
    window_mark: 0,
    cycles_per_month: 1_000,
    cycles_used: 0,
    cycles_reserved: 0,
    cycles_remaining: 1_000,
    month_mark: 0,
    cycles_expired: 0,
    cycles_lost: 0,
    month_ends_at: '2026-12-01T00:00:00.000Z',
    days: [],
    keys: [],
    other_cycles: 0,
    ...changes,
  };
}

function findingsOf(committed: number, changes: Partial<Usage>): string[] {
  const findings = new Findings();
  checkCharges([usage(changes)], new Map([[ACCOUNT, committed]]), findings);
  return findings.lines;
}

const charges = suite('the charge of an account');

charges('equals the committed cycles if nothing was lost or expired', () => {
  assert.equal(findingsOf(100, { cycles_used: 100 }), []);
});

charges('may exceed the committed cycles by lost and expired cycles', () => {
  const explained = { cycles_lost: 20, cycles_expired: 3 };
  assert.equal(findingsOf(100, { cycles_used: 123, ...explained }), []);
  assert.equal(findingsOf(100, { cycles_used: 100, ...explained }), []);
});

charges('is reported if it is one cycle too low', () => {
  const [line = ''] = findingsOf(100, { cycles_used: 99 });
  assert.match(line, /100 cycles committed, but only 99 charged/);
});

charges('is reported if it is too low, even after losses in crashes', () => {
  const lines = findingsOf(100, { cycles_used: 99, cycles_lost: 20, cycles_expired: 3 });
  assert.is(lines.length, 1);
});

charges('is reported if it is one unexplained cycle too high', () => {
  assert.match(findingsOf(100, { cycles_used: 101 })[0] ?? '', /101 cycles charged/);
  const explained = { cycles_lost: 20, cycles_expired: 3 };
  assert.match(findingsOf(100, { cycles_used: 124, ...explained })[0] ?? '', /explain only 123/);
});

charges('is reported if a finished call still has a reservation', () => {
  const [line = ''] = findingsOf(100, { cycles_used: 99, cycles_reserved: 1 });
  assert.match(line, /1 cycles are still reserved/);
});

charges('is reported if it is above zero for an account without committed cycles', () => {
  const findings = new Findings();
  checkCharges([usage({ cycles_used: 1 })], new Map(), findings);
  assert.is(findings.count, 1);
});

charges('is reported if no limiter reports the usage of the account', () => {
  const findings = new Findings();
  checkCharges([], new Map([[ACCOUNT, 7]]), findings);
  assert.equal(findings.lines, [
    `${ACCOUNT}: 7 cycles committed, but no limiter reports the usage`,
  ]);
});

const counts = suite('when every limiter was killed');

counts('the check reports a lower cycle count than before, but no higher count', () => {
  const findings = new Findings();
  const before = [usage({ cycles_used: 50 })];
  checkCountsGoOn(before, [usage({ cycles_used: 60 })], findings);
  assert.is(findings.count, 0);
  checkCountsGoOn(before, [usage({ cycles_used: 49 })], findings);
  assert.equal(findings.lines, [`${ACCOUNT}: the used cycles fell from 50 to 49`]);
});

charges.run();
counts.run();
