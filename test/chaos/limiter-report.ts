import type { Usage } from '#test/chaos/account-usage';
import type { ChaosResult } from '#test/chaos/chaos-run';
import { type LimiterOutage, outageFigures, refusalTimes } from '#test/chaos/limiter-outage';

/** Refusals during limiter outages, in Markdown; empty without such a fault. */
export function limiterLines({ log: { calls }, outages }: ChaosResult): string[] {
  if (outages.length === 0) return [];
  const lines = outages.map((outage) =>
    outage.cyclesMeanwhile === undefined
      ? oneGone(calls, outage)
      : everyoneGone(calls, outage, outage.cyclesMeanwhile),
  );
  return [
    'Calls without an idempotency key while a limiter was down, paused or leaving:',
    '',
    ...lines,
    '',
  ];
}

function oneGone(calls: ChaosResult['log']['calls'], outage: LimiterOutage): string {
  const own = outageFigures(calls, outage, 'own');
  const others = outageFigures(calls, outage, 'others');
  const { longest } = refusalTimes(calls, outage);
  return (
    `- ${outage.limiters}: refusals of its ${outage.accounts.size} accounts ended after ` +
    `${Math.round(own.refusedUntilMs)} ms (${own.refused} of ${own.calls} calls, longest wait ` +
    `${Math.round(longest)} ms);\n  of other accounts, ${others.refused} of ${others.calls} calls were refused.`
  );
}

function everyoneGone(
  calls: ChaosResult['log']['calls'],
  outage: LimiterOutage,
  cyclesMeanwhile: number,
): string {
  const { accounts, fromMs, backMs, toMs } = outage;
  const meanwhile = outageFigures(calls, { accounts, fromMs, toMs: backMs }, 'own');
  const after = outageFigures(calls, { accounts, fromMs: backMs, toMs }, 'own');
  const [p50, p99, longest] = Object.values(refusalTimes(calls, outage)).map(Math.round);
  return (
    `- ${outage.limiters.join(' and ')} for ${Math.round(backMs - fromMs)} ms: ` +
    `${meanwhile.refused} of ${meanwhile.calls} calls refused, after ${p50} ms (p50), ${p99} ms (p99), ` +
    `${longest} ms (longest).\n  Engines applied ${cyclesMeanwhile} observations. The last refusal came ` +
    `${Math.round(after.refusedUntilMs)} ms after the first limiter started again.`
  );
}

/** Total committed and charged cycles of all accounts, in Markdown. */
export function chargeLines({ usages, check }: ChaosResult): string[] {
  const sumOf = (read: (usage: Usage) => number) =>
    usages.reduce((sum, usage) => sum + read(usage), 0);
  const committed = sumOf(({ account_id }) => check.committed.get(account_id) ?? 0);
  const charged = sumOf(({ cycles_used }) => cycles_used);
  const lost = sumOf(({ cycles_lost }) => cycles_lost);
  const expired = sumOf(({ cycles_expired }) => cycles_expired);
  return [
    `Committed cycles: ${committed}; charged: ${charged}. Limiter crashes explain at most ${lost} of the difference, expired`,
    `reservations at most ${expired}.`,
  ];
}
