import type { MeterUsage, MonthUsage } from '#grpc/admin';
import type { Month } from '#limiter/meter/month';
import { cyclesByDay } from '#limiter/meter/usage';
import { type FinishedMonth, MONTHS_KEPT } from '#storage/ports/meters';

/** Usage of a meter's month, without the account's limits and window. */
export function usageOfMonth(
  month: Month,
): Omit<MeterUsage, 'limits' | 'requestsInWindow' | 'windowResetAtS' | 'windowWatermark'> {
  const { cyclesByDay: byDay, keys } = usageOf(month.present);
  return {
    cyclesUsed: month.used,
    cyclesReserved: month.reserved,
    monthResetAtS: month.endsAtMs / 1_000,
    monthWatermark: month.watermark.value,
    cyclesExpired: month.expired,
    cyclesLost: month.lost,
    cyclesByDay: byDay,
    keys,
    finishedMonths: month.finished.map(usageOf),
  };
}

/**
 * The months of an account, newest first: the present month and finished months. For a finished
 * month, the meter's copy takes precedence over the stored copy.
 */
export function monthsOf(usage: MeterUsage, stored: readonly FinishedMonth[]): MonthUsage[] {
  const { cyclesByDay: byDay, keys, finishedMonths } = usage;
  const present = { endsAtMs: usage.monthResetAtS * 1_000, cyclesByDay: byDay, keys };
  const past = new Map(stored.map((month) => [month.endsAtMs, usageOf(month)]));
  for (const month of finishedMonths) past.set(month.endsAtMs, month);
  const over = [...past.values()]
    .filter(({ endsAtMs }) => endsAtMs < present.endsAtMs)
    .sort((a, b) => b.endsAtMs - a.endsAtMs);
  return [present, ...over.slice(0, MONTHS_KEPT)];
}

/** A month with the cycles of each day; an empty list if no cycles were used. */
function usageOf({ endsAtMs, cyclesUsed, days, keys }: FinishedMonth): MonthUsage {
  return {
    endsAtMs,
    cyclesByDay: cyclesUsed === 0 ? [] : cyclesByDay(days, cyclesUsed),
    keys: keys
      .filter(({ cycles }) => cycles > 0)
      .map((key) => ({ prefix: key.prefix, cyclesByDay: cyclesByDay(key.days, key.cycles) })),
  };
}
