import type { ChaosResult } from '#test/chaos/chaos-run';
import { type LimiterOutage, outageFigures, refusalTimes } from '#test/chaos/faults/limiter-outage';
import type { Usage } from '#test/chaos/load/account-usage';

/** Refusals while limiters were down, as blocks in Markdown; none without such a fault. */
export function limiterLines(result: ChaosResult): string[] {
  const { log, outages, disturbances } = result;
  if (outages.length === 0) return [];
  const rows = outages.map((outage) => {
    const fault = disturbances.find(({ fromMs }) => fromMs === outage.fromMs)?.text;
    const cells = outage.cyclesMeanwhile === undefined ? oneGone : everyoneGone;
    return `| ${fault ?? outage.limiters.join(' and ')} | ${cells(log.calls, outage).join(' | ')} |`;
  });
  const table = [
    '| Calls without idempotency key | Refused, own accounts | Until, ms | Longest wait, ms | Refused, others |',
    '|---|---:|---:|---:|---:|',
    ...rows,
  ].join('\n');
  const sentences = outages.flatMap((outage) => everyoneText(log.calls, outage));
  return [table, ...sentences];
}

type Calls = ChaosResult['log']['calls'];

function oneGone(calls: Calls, outage: LimiterOutage): string[] {
  const own = outageFigures(calls, outage, 'own');
  const others = outageFigures(calls, outage, 'others');
  return [
    `${own.refused} of ${own.calls}`,
    `${Math.round(own.refusedUntilMs)}`,
    `${Math.round(refusalTimes(calls, outage).longest)}`,
    `${others.refused} of ${others.calls}`,
  ];
}

function everyoneGone(calls: Calls, outage: LimiterOutage): string[] {
  const { accounts, fromMs, backMs, toMs } = outage;
  const meanwhile = outageFigures(calls, { accounts, fromMs, toMs: backMs }, 'own');
  const after = outageFigures(calls, { accounts, fromMs: backMs, toMs }, 'own');
  return [
    `${meanwhile.refused} of ${meanwhile.calls}`,
    `${Math.round(after.refusedUntilMs)} after restart`,
    `${Math.round(refusalTimes(calls, outage).longest)}`,
    '-',
  ];
}

/** None if a limiter was left. */
function everyoneText(calls: Calls, outage: LimiterOutage): string[] {
  const { fromMs, backMs, cyclesMeanwhile } = outage;
  if (cyclesMeanwhile === undefined) return [];
  const { p50, p99 } = refusalTimes(calls, outage);
  return [
    `Without any limiter for ${Math.round(backMs - fromMs)} ms, engines applied ${cyclesMeanwhile} observations; ` +
      `refusals took ${Math.round(p50)} ms (p50), ${Math.round(p99)} ms (p99).`,
  ];
}

/** Cycles of all accounts together. */
type Charges = {
  readonly committed: number;
  readonly charged: number;
  /** Charged without use, at most: lost in crashes of limiters, and expired with a reservation. */
  readonly lost: number;
  readonly expired: number;
};

/** Committed and charged cycles of a phase. */
export function chargesOf({ usages, check }: ChaosResult): Charges {
  const sumOf = (read: (usage: Usage) => number) =>
    usages.reduce((sum, usage) => sum + read(usage), 0);
  return {
    committed: sumOf(({ account_id }) => check.committed.get(account_id) ?? 0),
    charged: sumOf(({ cycles_used }) => cycles_used),
    lost: sumOf(({ cycles_lost }) => cycles_lost),
    expired: sumOf(({ cycles_expired }) => cycles_expired),
  };
}
