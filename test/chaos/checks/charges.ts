import type { Findings } from '#test/chaos/checks/findings';
import type { Usage } from '#test/chaos/load/account-usage';

/**
 * Checks the charge of every account: committed <= charged <= committed + lost in crashes +
 * expired. `committed` is the number of stored observations by account. An open reservation is a
 * finding, because no request settles it any more. The run must not cross the end of a month.
 */
export function checkCharges(
  usages: readonly Usage[],
  committed: ReadonlyMap<string, number>,
  findings: Findings,
): void {
  const listed = new Set(usages.map(({ account_id }) => account_id));
  for (const [accountId, cycles] of committed) {
    if (!listed.has(accountId))
      findings.add(`${accountId}: ${cycles} cycles committed, but no limiter reports the usage`);
  }
  for (const usage of usages) {
    const { account_id, cycles_used, cycles_reserved, cycles_lost, cycles_expired } = usage;
    const least = committed.get(account_id) ?? 0;
    const most = least + cycles_lost + cycles_expired;
    if (cycles_reserved > 0) {
      findings.add(`${account_id}: ${cycles_reserved} cycles are still reserved after all calls`);
    }
    if (cycles_used + cycles_reserved < least) {
      findings.add(`${account_id}: ${least} cycles committed, but only ${cycles_used} charged`);
    }
    if (cycles_used + cycles_reserved > most) {
      findings.add(
        `${account_id}: ${cycles_used} cycles charged, but ${least} committed, ${cycles_lost} ` +
          `lost in crashes and ${cycles_expired} expired explain only ${most}`,
      );
    }
  }
}

/**
 * Checks that the used cycles of no account decrease, even after limiter crashes. `later` must be
 * read after `earlier`.
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
    findings.add(`${account_id}: the used cycles fell from ${cycles_used} to ${used}`);
  }
}
