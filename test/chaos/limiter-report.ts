import type { ChaosResult } from '#test/chaos/chaos-run';
import { countText } from '#test/chaos/checks/quota';
import { type LimiterOutage, outageFigures, refusalTimes } from '#test/chaos/faults/limiter-outage';
import type { Usage } from '#test/chaos/load/account-usage';

/** Markdown blocks about refusals while limiters were down; empty without such a fault. */
export function limiterLines(result: ChaosResult): string[] {
  const { log, outages, disturbances } = result;
  if (outages.length === 0) return [];
  const rows = outages.map((outage) => {
    const fault = disturbances.find(({ fromMs }) => fromMs === outage.fromMs)?.text;
    const cells = outage.cyclesMeanwhile === undefined ? oneGone : everyoneGone;
    return `| ${fault ?? outage.limiters.join(' and ')} | ${cells(log.calls, outage).join(' | ')} |`;
  });
  const table = [
    '| Limiter fault | Refused calls, own accounts | Last refusal after, ms | Slowest refusal, ms | Refused calls, other accounts |',
    '|---|---:|---:|---:|---:|',
    ...rows,
  ].join('\n');
  const sentences = outages.flatMap((outage) => everyoneText(log.calls, outage));
  return [`${COUNTED_CALLS}\n\n${table}`, ...sentences];
}

/** Sentences above the table: which calls the table counts. */
const COUNTED_CALLS =
  'The next table counts calls from the start of a fault until all edges use the new owners. The table leaves out calls ' +
  'with an idempotency key, because clients retry these calls. "Own accounts" belong to the stopped limiters, "other ' +
  'accounts" to running limiters.';

type Calls = ChaosResult['log']['calls'];

function oneGone(calls: Calls, outage: LimiterOutage): string[] {
  const own = outageFigures(calls, outage, 'own');
  const others = outageFigures(calls, outage, 'others');
  return [
    `${countText(own.refused)} of ${countText(own.calls)}`,
    countText(own.refusedUntilMs),
    countText(refusalTimes(calls, outage).longest),
    `${countText(others.refused)} of ${countText(others.calls)}`,
  ];
}

function everyoneGone(calls: Calls, outage: LimiterOutage): string[] {
  const { accounts, fromMs, backMs, toMs } = outage;
  const meanwhile = outageFigures(calls, { accounts, fromMs, toMs: backMs }, 'own');
  const after = outageFigures(calls, { accounts, fromMs: backMs, toMs }, 'own');
  return [
    `${countText(meanwhile.refused)} of ${countText(meanwhile.calls)}`,
    `${countText(after.refusedUntilMs)} after restart`,
    countText(refusalTimes(calls, outage).longest),
    '-',
  ];
}

/** Sentence about the time without any limiter; empty if a limiter was running. */
function everyoneText(calls: Calls, outage: LimiterOutage): string[] {
  const { fromMs, backMs, cyclesMeanwhile } = outage;
  if (cyclesMeanwhile === undefined) return [];
  const { p50, p99 } = refusalTimes(calls, outage);
  return [
    `For ${countText(backMs - fromMs)} ms, all limiters were down. After the first second of this time, engines applied ${cyclesMeanwhile} observations. ` +
      `Refusals took ${Math.round(p50)} ms (p50) and ${Math.round(p99)} ms (p99).`,
  ];
}

/** Cycles of all accounts. */
type Charges = {
  readonly committed: number;
  readonly charged: number;
  /** Maximum number of charged cycles that were lost in limiter crashes. */
  readonly lost: number;
  /** Maximum number of charged cycles that were unused when their reservation expired. */
  readonly expired: number;
};

/** Sums up the cycles of a phase. */
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
