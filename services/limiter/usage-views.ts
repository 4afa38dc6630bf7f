import type { z } from 'zod';
import type { ApiKeyRecord } from '#accounts/account';
import { monthNameOf } from '#accounts/month';
import type { MonthsView, UsageView } from '#limiter/admin-schema';
import { isoTime } from '#platform/iso-time';
import type { KeyUsage, MeterUsage, MonthUsage } from '#wire/admin';

/** A month of an account for people. */
type MonthView = z.infer<typeof MonthsView>[number];

/** What a key of the account has used of a month. */
export type UsedByKey = Pick<ApiKeyRecord, 'id' | 'name'> & {
  readonly cyclesByDay: readonly number[];
};

/** Usage for the admin port; `keys` are those of the account. */
export function viewOfUsage(
  accountId: string,
  usage: MeterUsage,
  keys: readonly ApiKeyRecord[],
): z.infer<typeof UsageView> {
  const { limits, cyclesUsed, cyclesReserved, windowResetAtS, monthResetAtS } = usage;
  const {
    month: _,
    cycles: __,
    ...rest
  } = viewOfMonth(
    { endsAtMs: monthResetAtS * 1_000, cyclesByDay: usage.cyclesByDay, keys: usage.keys },
    keys,
  );
  return {
    account_id: accountId,
    requests_per_minute: limits.requestsPerMinute,
    requests_in_window: usage.requestsInWindow,
    window_mark: usage.windowWatermark,
    ...(windowResetAtS === undefined ? {} : { window_resets_at: isoTime(windowResetAtS * 1_000) }),
    cycles_per_month: limits.cyclesPerMonth,
    cycles_used: cyclesUsed,
    cycles_reserved: cyclesReserved,
    cycles_remaining: Math.max(0, limits.cyclesPerMonth - cyclesUsed - cyclesReserved),
    month_mark: usage.monthWatermark,
    cycles_expired: usage.cyclesExpired,
    cycles_lost: usage.cyclesLost,
    month_ends_at: isoTime(monthResetAtS * 1_000),
    ...rest,
  };
}

/** A month for the admin port; `keys` are those of the account. */
export function viewOfMonth(month: MonthUsage, keys: readonly ApiKeyRecord[]): MonthView {
  const dates = datesOf(month);
  const used = usedByKey(month, keys).map(({ id, name, cyclesByDay }) => ({
    id,
    ...(name !== undefined && { name }),
    cycles: sumOf(cyclesByDay),
  }));
  const cycles = sumOf(month.cyclesByDay);
  return {
    month: monthNameOf(month.endsAtMs - 1),
    cycles,
    days: month.cyclesByDay.map((count, index) => ({ date: dates[index] ?? '', cycles: count })),
    keys: used.sort((a, b) => b.cycles - a.cycles),
    other_cycles: cycles - sumOf(used.map((key) => key.cycles)),
  };
}

/** The dates of the UTC days that a month has cycles of, from its first: `2026-01-01`. */
export function datesOf({ endsAtMs, cyclesByDay }: MonthUsage): string[] {
  const end = new Date(endsAtMs);
  return cyclesByDay.map((_, index) =>
    isoTime(Date.UTC(end.getUTCFullYear(), end.getUTCMonth() - 1, 1 + index)).slice(0, 10),
  );
}

/** What each key that the account still has has used of a month. */
export function usedByKey({ keys: used }: MonthUsage, keys: readonly ApiKeyRecord[]): UsedByKey[] {
  return keys.flatMap(({ id, name, digest }) => {
    const usage = used.find(({ prefix }: KeyUsage) => digest.startsWith(prefix));
    if (usage === undefined) return [];
    return [{ id, ...(name !== undefined && { name }), cyclesByDay: usage.cyclesByDay }];
  });
}

function sumOf(counts: readonly number[]): number {
  return counts.reduce((sum, count) => sum + count, 0);
}
