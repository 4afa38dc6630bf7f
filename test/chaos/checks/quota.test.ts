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

const quota = suite('a quota used while its limiter is killed repeatedly');

quota('may lose at most the tolerated share', () => {
  assert.equal(findingsOf({}), []);
  assert.equal(findingsOf({ committed: 1_000, acknowledged: 1_000 }), []);
});

quota('is a finding if one cycle too many was lost', () => {
  const [line = ''] = findingsOf({ committed: 969, acknowledged: 969 });
  assert.match(line, /969 of 1000 cycles are used, 96.90 %: less than 97.00 %/);
});

quota('is a finding if exceeded by one committed, acknowledged or charged cycle', () => {
  assert.equal(findingsOf({ committed: 1_001 }), [
    '1001 cycles are committed, and the quota is 1000',
  ]);
  assert.match(findingsOf({ acknowledged: 1_001 })[0] ?? '', /1001 cycles are acknowledged/);
  const usage = { cycles_used: 999, cycles_reserved: 2, cycles_lost: 0 };
  assert.match(findingsOf({ usage })[0] ?? '', /1001 cycles are charged/);
});

quota('must include every acknowledged cycle', () => {
  const [line = ''] = findingsOf({ acknowledged: 971 });
  assert.is(line, '971 cycles are acknowledged, and 970 committed');
});

quota('is inconclusive if a client never saw the quota end, or if kills came too late', () => {
  assert.match(findingsOf({ refusedClients: 4 })[0] ?? '', /4 of 5 clients/);
  assert.match(findingsOf({ kills: 1 })[0] ?? '', /killed 1 times instead of 2/);
});

quota.run();
