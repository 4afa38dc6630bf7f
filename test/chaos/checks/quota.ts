import type { Findings } from '#test/chaos/checks/findings';
import type { Usage } from '#test/chaos/load/account-usage';
import type { QuotaDemand } from '#test/chaos/load/quota-load';

/** Result of a quota run. */
export type QuotaUse = {
  /** Number of stored cycles. */
  readonly committed: number;
  /** Number of cycles acknowledged to clients. */
  readonly acknowledged: number;
  /** Usage after the settlement of the last reservation. */
  readonly usage: Pick<Usage, 'cycles_used' | 'cycles_reserved' | 'cycles_lost'>;
  /** Number of clients that were refused because the quota was used up. */
  readonly refusedClients: number;
  /** Number of kills of the limiter that owned the account. */
  readonly kills: number;
};

/**
 * Checks a quota run. Committed, acknowledged and charged cycles must not exceed the quota, and
 * clients must be able to use at least the share `shareMin`. `checkCharges` compares committed and
 * charged cycles.
 */
export function checkQuota(
  { quota, clients, kills, shareMin }: QuotaDemand,
  use: QuotaUse,
  findings: Findings,
): void {
  const { committed, acknowledged, usage, refusedClients } = use;
  const charged = usage.cycles_used + usage.cycles_reserved;
  for (const [what, cycles] of Object.entries({ committed, acknowledged, charged })) {
    if (cycles > quota) findings.add(`${cycles} cycles ${what}, but the quota is ${quota}`);
  }
  if (acknowledged > committed) {
    findings.add(`${acknowledged} cycles acknowledged, but only ${committed} committed`);
  }
  if (committed < shareMin * quota) {
    findings.add(
      `${committed} of ${quota} cycles were used (${percent(committed / quota)}); ` +
        `at least ${percent(shareMin)} are required (${usage.cycles_lost} lost in crashes)`,
    );
  }
  if (refusedClients < clients) {
    findings.add(
      `only ${refusedClients} of ${clients} clients were refused because the quota was used up`,
    );
  }
  if (use.kills < kills) {
    findings.add(`limiters were killed only ${use.kills} of ${kills} times before the quota ended`);
  }
}

/** Formats a share as a percentage. A tiny share has a third decimal, so that it is not 0. */
export function percent(share: number): string {
  return `${(100 * share).toFixed(share > 0 && share < 0.000_05 ? 3 : 2)} %`;
}

/** Formats a count with separated thousands. */
export function countText(count: number): string {
  return Math.round(count).toLocaleString('en');
}
