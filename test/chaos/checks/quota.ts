import type { Findings } from '#test/chaos/checks/findings';
import type { Usage } from '#test/chaos/load/account-usage';
import type { QuotaDemand } from '#test/chaos/load/quota-load';

/** Result of a quota run. */
export type QuotaUse = {
  /** Cycles applied by engines, and cycles acknowledged to clients. */
  readonly committed: number;
  readonly acknowledged: number;
  /** Usage after the last reservation was settled. */
  readonly usage: Pick<Usage, 'cycles_used' | 'cycles_reserved' | 'cycles_lost'>;
  /** Number of clients refused because the quota was exhausted. */
  readonly refusedClients: number;
  /** Number of kills of the limiter that owned the account. */
  readonly kills: number;
};

/**
 * Checks a quota run. Committed, acknowledged and charged cycles must not exceed the quota, and
 * crashes may cost only a small share of it. `checkCharges` finds differences from the charge.
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

/** A share as printed percentage. */
export function percent(share: number): string {
  return `${(100 * share).toFixed(2)} %`;
}
