import type { ChaosResult } from '#test/chaos/chaos-run';
import { type LimiterOutage, outageFigures, refusalTimes } from '#test/chaos/limiter-outage';

/** What callers met while limiters were gone, and what every account was charged, in Markdown. */
export function limiterLines(result: ChaosResult): string[] {
  return [...outageLines(result), ...chargeLines(result)];
}

function outageLines({ log: { calls }, outages }: ChaosResult): string[] {
  if (outages.length === 0) return [];
  const lines = outages.map((outage) =>
    outage.cyclesMeanwhile === undefined
      ? oneGone(calls, outage)
      : everyoneGone(calls, outage, outage.cyclesMeanwhile),
  );
  return [
    'Without a limiter, counting calls without a key, of which the caller sees a single try:',
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
    `- ${outage.limiters} gone: its ${outage.accounts.size} accounts were refused until ` +
    `${Math.round(own.refusedUntilMs)} ms after that (${own.refused} of ${own.calls} calls, the longest ` +
    `refusal after ${Math.round(longest)} ms); of the other accounts ${others.refused} of ${others.calls} ` +
    'calls were refused.'
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
    `- ${outage.limiters.join(' and ')} gone: until the first was started again after ` +
    `${Math.round(backMs - fromMs)} ms, ${meanwhile.refused} of ${meanwhile.calls} calls were refused, ` +
    `after ${p50} ms at the median, ${p99} ms at the 99th percentile and ${longest} ms at most; engines ` +
    `applied ${cyclesMeanwhile} observations; the last call was refused ` +
    `${Math.round(after.refusedUntilMs)} ms after that start.`
  );
}

function chargeLines({ usages, check }: ChaosResult): string[] {
  const rows = usages.map(({ account_id, cycles_used, cycles_lost, cycles_expired }) => {
    const committed = check.committed.get(account_id) ?? 0;
    return `| ${account_id} | ${committed} | ${cycles_used} | ${cycles_lost} | ${cycles_expired} |`;
  });
  return [
    'Cycles by account: what was committed was charged, and no more than crashes of limiters and expired',
    'reservations explain.',
    '',
    '| Account | Committed | Charged | Lost in crashes | Expired unsettled |',
    '|---|---:|---:|---:|---:|',
    ...rows,
    '',
  ];
}
