import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Findings } from '#test/chaos/checks/findings';
import { checkQuota, type QuotaUse } from '#test/chaos/checks/quota';

const DEMAND = {
  quota: 1_000,
  clients: 5,
  cyclesWanted: 3_000,
  cyclesPerSecond: 100,
  cyclesPerCall: 1,
  kills: 2,
  shareMin: 0.97,
};

const GOOD: QuotaUse = {
  committed: 970,
  acknowledged: 970,
  usage: { cycles_used: 1_000, cycles_reserved: 0, cycles_lost: 30 },
  refusedClients: 5,
  kills: 2,
};

function findingsOf(changes: Partial<QuotaUse>): string[] {
  const findings = new Findings();
  checkQuota(DEMAND, { ...GOOD, ...changes }, findings);
  return findings.lines;
}

const quota = suite('the quota check');

quota('accepts losses up to the tolerated share', () => {
  assert.equal(findingsOf({}), []);
  assert.equal(findingsOf({ committed: 1_000, acknowledged: 1_000 }), []);
});

quota('reports one lost cycle above the tolerated share', () => {
  const [line = ''] = findingsOf({ committed: 969, acknowledged: 969 });
  assert.match(line, /969 of 1000 cycles were used \(96.90 %\); at least 97.00 % are required/);
});

quota('reports one committed, acknowledged or charged cycle above the quota', () => {
  assert.equal(findingsOf({ committed: 1_001 }), ['1001 cycles committed, but the quota is 1000']);
  assert.match(findingsOf({ acknowledged: 1_001 })[0] ?? '', /1001 cycles acknowledged/);
  const usage = { cycles_used: 999, cycles_reserved: 2, cycles_lost: 0 };
  assert.match(findingsOf({ usage })[0] ?? '', /1001 cycles charged/);
});

quota('reports acknowledged cycles that are not committed', () => {
  const [line = ''] = findingsOf({ acknowledged: 971 });
  assert.is(line, '971 cycles acknowledged, but only 970 committed');
});

quota('reports a run in which a client was never refused or a kill is missing', () => {
  assert.match(findingsOf({ refusedClients: 4 })[0] ?? '', /only 4 of 5 clients/);
  assert.match(findingsOf({ kills: 1 })[0] ?? '', /only 1 of 2 times/);
});

quota.run();
