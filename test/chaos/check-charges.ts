import type { Usage } from '#test/chaos/account-usage';
import type { Findings } from '#test/chaos/findings';

/**
 * Every account paid for what it got and for nothing else: committed <= charged <=
 * committed + what crashes lost + what expired unsettled, so both are equal where neither happened.
 * `committed` are the observations that the stores hold by account; what is still reserved is wrong in
 * itself, because no request will ever settle it. The run and the usage are of one month.
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

/** Counts never go back, whatever happens to limiters: `later` was asked after `earlier` was answered. */
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
