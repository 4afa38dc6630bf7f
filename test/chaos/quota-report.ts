import { percent } from '#test/chaos/checks/quota';
import type { QuotaResult } from '#test/chaos/load/quota-run';
import type { ReportPart } from '#test/chaos/report';

/** Report section of a quota run. */
export function quotaPart(result: QuotaResult): ReportPart {
  const { demand, committed, acknowledged, usage, check, log } = result;
  const { quota, clients, cyclesPerCall, cyclesPerSecond, cyclesWanted, shareMin } = demand;
  const again = log.calls.filter(({ tries }) => tries > 1);
  const longestMs = Math.max(0, ...again.map(({ startMs, endMs }) => endMs - startMs));
  const blocks = [
    '## Quota while limiters are killed',
    `${clients} clients request ${cyclesWanted} cycles from one account, ${cyclesPerSecond} per second and ${cyclesPerCall} per ` +
      `call. The account has a quota of ${quota} cycles, and the limiter that owns the account was killed ${result.kills} ` +
      `times. The clients must be able to use at least ${percent(shareMin)} of the quota, but never more than the quota.`,
    `${usage.cycles_used} cycles were charged, ${committed} stored (${percent(committed / quota)}) and ${acknowledged} acknowledged, ` +
      `${usedPerSecond(result)} per second. At most ${usage.cycles_lost} cycles were lost in crashes and ${usage.cycles_expired} in ` +
      `expired reservations. ${result.refusedClients} of ${clients} clients were refused because the quota was used up; ` +
      `${check.calls.unknown} calls have an unknown outcome. ${again.length} calls were refused for lack of a limiter and ` +
      `retried for at most ${(longestMs / 1_000).toFixed(1)} s.`,
  ];
  return { name: 'quota', findings: check.findings, text: `${blocks.join('\n\n')}\n` };
}

/** Acknowledged cycles per second until the quota is used up, or until the end of the run. */
function usedPerSecond({ acknowledged, load }: QuotaResult): number {
  return perSecond(acknowledged, (load.usedUpMs ?? load.toMs) - load.fromMs);
}

function perSecond(cycles: number, ms: number): number {
  return Math.round((1_000 * cycles) / ms);
}
