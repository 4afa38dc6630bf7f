import type { Findings } from '#test/chaos/checks/findings';
import type { Usage } from '#test/chaos/load/account-usage';

/**
 * Checks the charges of every account: committed <= charged <= committed + lost in crashes +
 * expired unsettled. Without losses, both are equal. `committed` counts stored observations by
 * account. An open reservation is a finding, because no request will settle it. Run and usage must
 * be in one month.
 */
export function checkCharges(
  usages: readonly Usage[],
  committed: ReadonlyMap<string, number>,
  findings: Findings,
): void {
  const listed = new Set(usages.map(({ account_id }) => account_id));
  for (const [accountId, cycles] of committed) {
    if (!listed.has(accountId))
      findings.add(`${accountId}: no limiter says what ${cycles} cycles cost it`);
  }
  for (const usage of usages) {
    const { account_id, cycles_used, cycles_reserved, cycles_lost, cycles_expired } = usage;
    const least = committed.get(account_id) ?? 0;
    const most = least + cycles_lost + cycles_expired;
    if (cycles_reserved > 0) {
      findings.add(`${account_id}: ${cycles_reserved} cycles are reserved for calls that are over`);
    }
    if (cycles_used + cycles_reserved < least) {
      findings.add(`${account_id}: ${least} cycles are committed and ${cycles_used} charged`);
    }
    if (cycles_used + cycles_reserved > most) {
      findings.add(
        `${account_id}: ${cycles_used} cycles are charged, and ${least} committed, ` +
          `${cycles_lost} lost in crashes and ${cycles_expired} expired explain ${most}`,
      );
    }
  }
}

/**
 * Checks that counts never decrease, even after limiter failures. `later` was read after `earlier`
 * was answered.
 */
export function checkCountsGoOn(
  earlier: readonly Usage[],
  later: readonly Usage[],
  findings: Findings,
): void {
  const usedLater = new Map(later.map(({ account_id, cycles_used }) => [account_id, cycles_used]));
  for (const { account_id, cycles_used } of earlier) {
    const used = usedLater.get(account_id) ?? 0;
    if (used >= cycles_used) continue;
    findings.add(`${account_id}: ${cycles_used} cycles were used, and ${used} later`);
  }
}
