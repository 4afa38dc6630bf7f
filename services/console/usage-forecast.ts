import { monthBeginOf } from '#accounts/month';
import type { AccountAdmin } from '#limiter/account-admin';

const DAY_MS = 24 * 60 * 60 * 1_000;

type MeterUsage = Awaited<ReturnType<AccountAdmin['usage']>>;

/** Where a month is going; times are Unix milliseconds. */
type Forecast = {
  /** What it will have used at its end. */
  readonly cycles: number;
  /** When its quota is used up; absent: not in this month. */
  readonly usedUpAtMs?: number;
};

/**
 * A straight line through what was used since the first day of the month that used anything; undefined
 * where that day has begun less than a day ago, or nothing was used.
 */
export function forecastOf(usage: MeterUsage, nowMs: number): Forecast | undefined {
  const { cyclesByDay, cyclesUsed, limits } = usage;
  const endsAtMs = usage.monthResetAtS * 1_000;
  const firstDay = cyclesByDay.findIndex((cycles) => cycles > 0);
  const beganAtMs = monthBeginOf(endsAtMs) + firstDay * DAY_MS;
  if (firstDay < 0 || nowMs < beganAtMs + DAY_MS || nowMs >= endsAtMs) return undefined;
  const cyclesPerMs = cyclesUsed / (nowMs - beganAtMs);
  const cycles = Math.round(cyclesUsed + cyclesPerMs * (endsAtMs - nowMs));
  const left = limits.cyclesPerMonth - cyclesUsed;
  if (cycles <= limits.cyclesPerMonth || left <= 0) return { cycles };
  return { cycles, usedUpAtMs: Math.round(nowMs + left / cyclesPerMs) };
}
