import { percent } from '#test/chaos/checks/quota';
import type { QuotaResult } from '#test/chaos/load/quota-run';
import type { ReportPart } from '#test/chaos/report';

/** Result of a quota run while its limiter is killed. */
export function quotaPart(result: QuotaResult): ReportPart {
  const { demand, committed, acknowledged, usage, check, log } = result;
  const { quota, clients, cyclesPerCall, cyclesPerSecond, cyclesWanted, shareMin } = demand;
  const again = log.calls.filter(({ tries }) => tries > 1);
  const longestMs = Math.max(0, ...again.map(({ startMs, endMs }) => endMs - startMs));
  const blocks = [
    '## Quota while its limiter is killed',
    `${clients} clients request ${cyclesWanted} cycles from an account with a quota of ${quota}: ${cyclesPerSecond} a second, ` +
      `${cyclesPerCall} per call. Meanwhile its limiter was killed ${result.kills} times. The account must get at most the ` +
      `quota, and at least ${percent(shareMin)}.`,
    `Cycles: ${usage.cycles_used} charged, ${committed} in history (${percent(committed / quota)}), ${acknowledged} acknowledged, ` +
      `${usedPerSecond(result)} a second. Crashes lost at most ${usage.cycles_lost}, expiry ${usage.cycles_expired}. The refusal of a ` +
      `used-up quota reached ${result.refusedClients} of ${clients} clients; ${check.calls.unknown} outcomes are unknown. ` +
      `${again.length} calls were refused temporarily and sent again, for at most ${(longestMs / 1_000).toFixed(1)} s.`,
  ];
  return { name: 'quota', findings: check.findings, text: `${blocks.join('\n\n')}\n` };
}

/** If the quota was never exhausted, the end of the run counts. */
function usedPerSecond({ acknowledged, load }: QuotaResult): number {
  return perSecond(acknowledged, (load.usedUpMs ?? load.toMs) - load.fromMs);
}

function perSecond(cycles: number, ms: number): number {
  return Math.round((1_000 * cycles) / ms);
}
