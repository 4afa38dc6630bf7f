import type { z } from 'zod';
import { type Account, type ApiKeyRecord, keyEndsAtMs } from '#accounts/account';
import { maskedKey } from '#accounts/api-key';
import type { Limits, PlanChoice } from '#accounts/plan';
import { accountAt } from '#accounts/plan-change';
import { monthNameOf } from '#accounts/quota-windows';
import type { KeyUsage, MeterUsage, MonthUsage } from '#grpc/admin';
import type { UsedKey } from '#limiter/admin/accounts';
import type {
  AccountView,
  KeyView,
  LimitsWire,
  MonthsView,
  PlanBody,
  UsageView,
} from '#limiter/admin/schema';
import { isoTime } from '#stdlib/clock';
import { defined } from '#stdlib/defined';
import type { KeyUse } from '#storage/ports/accounts';

/** Account view at `nowMs`. */
export function viewOfAccount(account: Account, nowMs: number): z.infer<typeof AccountView> {
  const present = accountAt(account, nowMs);
  const { id, name, plan, status, limits, planChange: change } = present;
  const { modelVersion, retention, createdAtMs } = present;
  return {
    id,
    name,
    plan,
    status,
    limits: viewOfLimits(limits),
    ...(change === undefined
      ? {}
      : {
          plan_change: {
            plan: change.plan,
            limits: viewOfLimits(change.limits),
            at: isoTime(change.atMs),
          },
        }),
    ...(modelVersion === undefined ? {} : { model_version: modelVersion }),
    ...(retention === undefined ? {} : { retention_days: retention }),
    created_at: isoTime(createdAtMs),
  };
}

/** Plan requested by a body. */
export function choiceOf(body: z.infer<typeof PlanBody>): PlanChoice {
  if (body.plan !== 'enterprise') return { plan: body.plan };
  const { requests_per_minute, cycles_per_month, instances } = body.limits;
  const limits = { requestsPerMinute: requests_per_minute, cyclesPerMonth: cycles_per_month };
  return {
    plan: 'enterprise',
    limits: instances === undefined ? limits : { ...limits, instances },
  };
}

function viewOfLimits(limits: Limits): z.infer<typeof LimitsWire> {
  return {
    requests_per_minute: limits.requestsPerMinute,
    cycles_per_month: limits.cyclesPerMonth,
    instances: limits.instances,
  };
}

const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;

/** Age at which an unused key gets a hint, in days. */
const UNUSED_DAYS = 7;

/** Time since the last use at which a key gets a hint, in days. */
const IDLE_DAYS = 90;

/** Key view, without secret or digest. */
export function viewOfKey(key: ApiKeyRecord, nowMs: number): z.infer<typeof KeyView> {
  const { id, name, hint, scope, networks, replacedBy } = key;
  return defined<z.infer<typeof KeyView>>({
    id,
    name,
    masked: hint === undefined ? undefined : maskedKey(hint),
    scope,
    status: statusOf(key, nowMs),
    networks: networks === undefined ? undefined : [...networks],
    created_at: isoTime(key.createdAtMs),
    disabled_at: timeOf(key.disabledAtMs),
    revoked_at: timeOf(key.revokedAtMs),
    expires_at: timeOf(key.expiresAtMs),
    replaced_by: replacedBy,
    created_by: key.createdBy,
    last_used: undefined,
    hints: undefined,
  });
}

/** Listed key view, with last use and hints. */
export function viewOfUsedKey(used: UsedKey, nowMs: number): z.infer<typeof KeyView> {
  const { record, lastUse } = used;
  const view = { ...viewOfKey(record, nowMs), hints: hintsOf(used, nowMs) };
  return lastUse === undefined ? view : { ...view, last_used: viewOfUse(lastUse) };
}

type UseView = NonNullable<z.infer<typeof KeyView>['last_used']>;

function viewOfUse({ minute, address, client }: KeyUse): UseView {
  return defined<UseView>({ at: isoTime(minute * MINUTE_MS), address, client });
}

function statusOf(key: ApiKeyRecord, nowMs: number): string {
  if (key.revokedAtMs !== undefined) return 'revoked';
  if (nowMs >= keyEndsAtMs(key)) return 'expired';
  return key.disabledAtMs === undefined ? 'active' : 'disabled';
}

/**
 * Hints for a usable key. A key without `hint` comes from a release that recorded no uses, so it
 * gets no `never_used`.
 */
function hintsOf({ record, lastUse }: UsedKey, nowMs: number): string[] {
  if (statusOf(record, nowMs) !== 'active') return [];
  const hints: string[] = [];
  if (lastUse === undefined) {
    const isOld = nowMs - record.createdAtMs >= UNUSED_DAYS * DAY_MS;
    if (isOld && record.hint !== undefined) hints.push('never_used');
  } else if (nowMs - lastUse.minute * MINUTE_MS >= IDLE_DAYS * DAY_MS) hints.push('idle_90_days');
  if (record.expiresAtMs === undefined) hints.push('no_expiry');
  return hints;
}

function timeOf(atMs: number | undefined): string | undefined {
  return atMs === undefined ? undefined : isoTime(atMs);
}

/** A month in admin port answers. */
type MonthView = z.infer<typeof MonthsView>[number];

/** Usage by a key in a month. */
type UsedByKey = Pick<ApiKeyRecord, 'id' | 'name'> & {
  readonly cyclesByDay: readonly number[];
};

/** Account usage view; `keys` are all the account's keys. */
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

/** Month view; `keys` are all the account's keys. */
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

/** Dates for `cyclesByDay`, starting on the month's first day, such as `2026-01-01`. */
export function datesOf({ endsAtMs, cyclesByDay }: MonthUsage): string[] {
  const end = new Date(endsAtMs);
  return cyclesByDay.map((_, index) =>
    isoTime(Date.UTC(end.getUTCFullYear(), end.getUTCMonth() - 1, 1 + index)).slice(0, 10),
  );
}

/** Usage by key in a month, for all the account's existing keys. */
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
