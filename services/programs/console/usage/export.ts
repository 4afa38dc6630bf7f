import { Readable } from 'node:stream';
import type { ApiKeyRecord } from '#accounts/account';
import { monthBeginOf, monthNameOf } from '#accounts/quota-windows';
import { type Answer, saved } from '#console/app/visit';
import type { InstanceUsage } from '#console/usage/instance-usage';
import type { AccountAdmin } from '#limiter/admin/accounts';
import { datesOf, usedByKey } from '#limiter/admin/views';

type Format = 'csv' | 'json';

type MonthUsage = Awaited<ReturnType<AccountAdmin['months']>>[number];

/** One key's usage on a UTC day. `key_id` is `other` for cycles without a known key. */
type UsageRow = {
  readonly date: string;
  readonly key_id: string;
  readonly key_name: string;
  readonly cycles: number;
};

const COLUMNS = ['date', 'key_id', 'key_name', 'cycles'] as const;

/** Without a byte order mark, spreadsheets assume a legacy code page and garble key names. */
const BYTE_ORDER_MARK = '\uFEFF';

/**
 * Returns a row for each day and key with cycles, oldest day first. The cycles of all rows add up
 * to the cycles of the months.
 */
export function usageRows(
  months: readonly MonthUsage[],
  keys: readonly ApiKeyRecord[],
): readonly UsageRow[] {
  return months.toReversed().flatMap((month) => rowsOf(month, keys));
}

/** Formats rows as CSV with a heading. */
export function usageCsv(rows: readonly UsageRow[]): string {
  return tableOf(COLUMNS, rows);
}

/** Export file of these months. `name` has no extension. */
export function usageFile(
  name: string,
  format: Format,
  months: readonly MonthUsage[],
  keys: readonly ApiKeyRecord[],
): Answer {
  const rows = usageRows(months, keys);
  return fileOf(name, format, rows, usageCsv(rows));
}

/** One instance's usage in a month. `instance_id` is `other` for the rest of the month. */
type InstanceRow = {
  readonly month: string;
  readonly instance_id: string;
  readonly instance_name: string;
  readonly cycles: number;
};

const INSTANCE_COLUMNS = ['month', 'instance_id', 'instance_name', 'cycles'] as const;

/** Rows for the listed instances, and one row for the rest of the month. */
function instanceUsageRows(used: InstanceUsage): readonly InstanceRow[] {
  const month = monthNameOf(used.monthBeginsAtMs);
  const other = { id: 'other', name: '', cycles: used.otherCycles };
  return [...used.instances, ...(other.cycles > 0 ? [other] : [])].map(({ id, name, cycles }) => ({
    ...{ month, instance_id: id, instance_name: name, cycles },
  }));
}

/** Export file of usage by instance. `name` has no extension. */
export function instanceUsageFile(name: string, format: Format, used: InstanceUsage): Answer {
  const rows = instanceUsageRows(used);
  return fileOf(name, format, rows, tableOf(INSTANCE_COLUMNS, rows));
}

function fileOf(name: string, format: Format, rows: readonly object[], csv: string): Answer {
  const json = `${JSON.stringify(rows, undefined, 2)}\n`;
  const [type, text] =
    format === 'csv' ? ['text/csv; charset=utf-8', csv] : ['application/json', json];
  return saved(`${name}.${format}`, type, Readable.from([Buffer.from(text)]));
}

function tableOf<Column extends string>(
  columns: readonly Column[],
  rows: readonly Readonly<Record<Column, string | number>>[],
): string {
  const cells = rows.map((row) => columns.map((column) => row[column]));
  return BYTE_ORDER_MARK + csvOf([columns, ...cells]);
}

function rowsOf(month: MonthUsage, keys: readonly ApiKeyRecord[]): UsageRow[] {
  const used = usedByKey(month, keys);
  return datesOf(month).flatMap((date, day) => {
    const byKey = used.map(({ id, name, cyclesByDay }) => ({
      ...{ date, key_id: id, key_name: name ?? '', cycles: cyclesByDay[day] ?? 0 },
    }));
    const known = byKey.reduce((sum, { cycles }) => sum + cycles, 0);
    const others = (month.cyclesByDay[day] ?? 0) - known;
    const other = { date, key_id: 'other', key_name: '', cycles: others };
    return [...byKey, other].filter(({ cycles }) => cycles > 0);
  });
}

/** First characters that spreadsheets treat as a formula. Source: OWASP, CSV injection. */
const FORMULA = /^[=+\-@\t\r]/;

/**
 * Formats a table as CSV (RFC 4180). A text that looks like a formula gets a leading apostrophe, so
 * that spreadsheets treat it as text. Numbers are unchanged.
 */
export function csvOf(rows: readonly (readonly (string | number)[])[]): string {
  return rows.map((row) => `${row.map(cellOf).join(',')}\r\n`).join('');
}

function cellOf(value: string | number): string {
  if (typeof value === 'number') return String(value);
  const text = FORMULA.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

const DAY_MS = 24 * 60 * 60 * 1_000;

type MeterUsage = Awaited<ReturnType<AccountAdmin['usage']>>;

/** Forecast of a month. Times are Unix milliseconds. */
type Forecast = {
  /** Expected cycles at the end of the month. */
  readonly cycles: number;
  /** Expected time when the quota is used up. Absent if this time is not within the month. */
  readonly usedUpAtMs?: number;
};

/**
 * Returns a linear forecast, based on the usage since the month's first day with usage. Returns
 * undefined without usage, or if this day began less than 24 hours ago.
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
