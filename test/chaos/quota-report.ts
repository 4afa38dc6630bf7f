import { percent } from '#test/chaos/check-quota';
import type { QuotaResult } from '#test/chaos/quota-run';

/** What a quota came to under kills of its limiter, as a section of the report in Markdown. */
export function quotaText(result: QuotaResult): string {
  const { demand, committed, acknowledged, usage, check, load, log } = result;
  const { quota, clients, cyclesPerCall, cyclesPerSecond, cyclesWanted, kills, shareMin } = demand;
  const { findings, calls } = check;
  const again = log.calls.filter(({ tries }) => tries > 1);
  const longestMs = Math.max(0, ...again.map(({ startMs, endMs }) => endMs - startMs));
  const lines = [
    '## A quota under kills of its limiter',
    '',
    `${clients} clients want ${cyclesWanted} cycles of one account whose quota is ${quota}, ${cyclesPerSecond} a second in all,`,
    `${cyclesPerCall} with each call, and the limiter that owns the account is killed (-9) ${kills} times while the`,
    `quota lasts. Demanded: never above the quota, and at least ${percent(shareMin)} of it used.`,
    '',
    findings.count === 0
      ? `**${percent(committed / quota)} of the quota were used, and never more than the quota.**`
      : `**${findings.count} things are wrong**, see below.`,
    '',
    '| Cycles | |',
    '|---|---:|',
    `| wanted | ${load.wanted} |`,
    `| acknowledged | ${acknowledged} |`,
    `| in history | ${committed} (${percent(committed / quota)}) |`,
    `| charged | ${usage.cycles_used} |`,
    `| of these lost in crashes, at most | ${usage.cycles_lost} |`,
    `| of these expired unsettled, at most | ${usage.cycles_expired} |`,
    `| acknowledged a second while the quota lasted | ${usedPerSecond(result)} |`,
    `| wanted a second, from beginning to end | ${perSecond(load.wanted, load.toMs - load.fromMs)} |`,
    '',
    '| Calls and kills | |',
    '|---|---:|',
    `| limiters killed while the quota lasted | ${result.kills} |`,
    `| clients refused because the quota is used up | ${result.refusedClients} of ${clients} |`,
    `| calls acknowledged, creates of ${clients} instances among them | ${calls.acknowledged} |`,
    `| calls refused because the quota was used up | ${calls.refused} |`,
    `| calls of unknown outcome | ${calls.unknown} |`,
    `| calls refused for the time being, and asked again | ${again.length} |`,
    `| the longest of these took | ${(longestMs / 1_000).toFixed(1)} s |`,
    ...(findings.count === 0 ? [] : ['', '### Findings', '']),
    ...findings.lines.map((line) => `- ${line}`),
  ];
  return `${lines.join('\n')}\n`;
}

/** A quota that was never used up counts to the end. */
function usedPerSecond({ acknowledged, load }: QuotaResult): number {
  return perSecond(acknowledged, (load.usedUpMs ?? load.toMs) - load.fromMs);
}

function perSecond(cycles: number, ms: number): number {
  return Math.round((1_000 * cycles) / ms);
}
