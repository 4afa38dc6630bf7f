import type { Usage } from '#test/chaos/account-usage';
import type { Findings } from '#test/chaos/findings';
import type { QuotaDemand } from '#test/chaos/quota-load';

/** What came of a demand. */
export type QuotaUse = {
  /** Cycles that engines have applied, and those that clients had acknowledged. */
  readonly committed: number;
  readonly acknowledged: number;
  /** When nothing was reserved any more. */
  readonly usage: Pick<Usage, 'cycles_used' | 'cycles_reserved' | 'cycles_lost'>;
  /** Clients whose calls were refused because the quota is used up. */
  readonly refusedClients: number;
  /** How often the limiter that owned the account was killed. */
  readonly kills: number;
};

/**
 * No client gets more than the quota, and crashes of limiters cost little of it: what was committed, what
 * was acknowledged and what is charged are never above the quota, and at least the demanded share of it
 * is committed. What does not add up with the charge is found by `checkCharges`.
 */
export function checkQuota(
  { quota, clients, kills, shareMin }: QuotaDemand,
  use: QuotaUse,
  findings: Findings,
): void {
  const { committed, acknowledged, usage, refusedClients } = use;
  const charged = usage.cycles_used + usage.cycles_reserved;
  for (const [what, cycles] of Object.entries({ committed, acknowledged, charged })) {
    if (cycles > quota) findings.add(`${cycles} cycles are ${what}, and the quota is ${quota}`);
  }
  if (acknowledged > committed) {
    findings.add(`${acknowledged} cycles are acknowledged, and ${committed} committed`);
  }
  if (committed < shareMin * quota) {
    findings.add(
      `${committed} of ${quota} cycles are used, ${percent(committed / quota)}: ` +
        `less than ${percent(shareMin)}; ${usage.cycles_lost} were lost in crashes`,
    );
  }
  if (refusedClients < clients) {
    findings.add(
      `${refusedClients} of ${clients} clients were refused because the quota is used up`,
    );
  }
  if (use.kills < kills) {
    findings.add(`limiters were killed ${use.kills} times instead of ${kills} while it lasted`);
  }
}

/** A share in percent, as it is printed. */
export function percent(share: number): string {
  return `${(100 * share).toFixed(2)} %`;
}
