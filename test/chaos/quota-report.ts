import { percent } from '#test/chaos/check-quota';
import type { QuotaResult } from '#test/chaos/quota-run';
import { resultLines } from '#test/chaos/report';

/** Report section of a quota run, in Markdown. */
export function quotaText(result: QuotaResult): string {
  const { demand, committed, acknowledged, usage, check, log } = result;
  const { quota, clients, cyclesPerCall, cyclesPerSecond, cyclesWanted, kills, shareMin } = demand;
  const { findings, calls } = check;
  const again = log.calls.filter(({ tries }) => tries > 1);
  const longestMs = Math.max(0, ...again.map(({ startMs, endMs }) => endMs - startMs));
  const lines = [
    '## Quota while its limiter is killed',
    '',
    `${clients} clients request ${cyclesWanted} cycles of one account with a quota of ${quota}: ${cyclesPerSecond} a second in all, ${cyclesPerCall} per`,
    `call. The limiter that owns the account is killed with \`kill -9\` ${kills} times before the quota is used up. The account`,
    `must never get more than the quota, and at least ${percent(shareMin)} of it.`,
    '',
    ...resultLines(findings),
    '',
    '| Measure | Value |',
    '|---|---:|',
    `| cycles acknowledged | ${acknowledged} |`,
    `| cycles in history | ${committed} (${percent(committed / quota)} of the quota) |`,
    `| cycles charged | ${usage.cycles_used} |`,
    `| charged and lost in crashes, at most | ${usage.cycles_lost} |`,
    `| charged and expired unsettled, at most | ${usage.cycles_expired} |`,
    `| cycles acknowledged a second, until the quota was used up | ${usedPerSecond(result)} |`,
    `| kills of the limiter until then | ${result.kills} |`,
    `| clients that got the refusal of a used-up quota | ${result.refusedClients} of ${clients} |`,
    `| calls of unknown outcome | ${calls.unknown} |`,
    `| calls refused temporarily and sent again | ${again.length} |`,
    `| longest of these | ${(longestMs / 1_000).toFixed(1)} s |`,
  ];
  return `${lines.join('\n')}\n`;
}

/** If the quota was never exhausted, the end of the run counts. */
function usedPerSecond({ acknowledged, load }: QuotaResult): number {
  return perSecond(acknowledged, (load.usedUpMs ?? load.toMs) - load.fromMs);
}

function perSecond(cycles: number, ms: number): number {
  return Math.round((1_000 * cycles) / ms);
}
