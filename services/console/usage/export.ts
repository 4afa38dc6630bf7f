import { Readable } from 'node:stream';
import type { ApiKeyRecord } from '#accounts/account';
import { monthBeginOf, monthNameOf } from '#accounts/windows';
import { type Answer, saved } from '#console/app/visit';
import type { InstanceUsage } from '#console/usage/instance-usage';
import type { AccountAdmin } from '#limiter/admin/accounts';
import { datesOf, usedByKey } from '#limiter/admin/views';

type Format = 'csv' | 'json';

type MonthUsage = Awaited<ReturnType<AccountAdmin['months']>>[number];

/** What one key used on one UTC day; `key_id` is `other` for what is of no key of the account. */
type UsageRow = {
  readonly date: string;
  readonly key_id: string;
  readonly key_name: string;
  readonly cycles: number;
};

const COLUMNS = ['date', 'key_id', 'key_name', 'cycles'] as const;

/** Spreadsheets take a file without it for one of an old code page, and names of keys for nonsense. */
const BYTE_ORDER_MARK = '\uFEFF';

/** A row for each day and key with cycles, oldest day first: they add up to the months. */
export function usageRows(
  months: readonly MonthUsage[],
  keys: readonly ApiKeyRecord[],
): readonly UsageRow[] {
  return months.toReversed().flatMap((month) => rowsOf(month, keys));
}

/** The rows as CSV with a heading. */
export function usageCsv(rows: readonly UsageRow[]): string {
  return tableOf(COLUMNS, rows);
}

/** A file of these months, without its ending in `name`. */
export function usageFile(
  name: string,
  format: Format,
  months: readonly MonthUsage[],
  keys: readonly ApiKeyRecord[],
): Answer {
  const rows = usageRows(months, keys);
  return fileOf(name, format, rows, usageCsv(rows));
}

/** What one instance used in a month; `instance_id` is `other` for all that is of none of the shown. */
type InstanceRow = {
  readonly month: string;
  readonly instance_id: string;
  readonly instance_name: string;
  readonly cycles: number;
};

const INSTANCE_COLUMNS = ['month', 'instance_id', 'instance_name', 'cycles'] as const;

/** A row for each instance that is shown, and one for what the month has besides theirs. */
function instanceUsageRows(used: InstanceUsage): readonly InstanceRow[] {
  const month = monthNameOf(used.monthBeginsAtMs);
  const other = { id: 'other', name: '', cycles: used.otherCycles };
  return [...used.instances, ...(other.cycles > 0 ? [other] : [])].map(({ id, name, cycles }) => ({
    ...{ month, instance_id: id, instance_name: name, cycles },
  }));
}

/** A file of these rows, without its ending in `name`. */
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

/** What spreadsheets take for the beginning of a formula. Source: OWASP, CSV injection. */
const FORMULA = /^[=+\-@\t\r]/;

/**
 * A table as CSV (RFC 4180). A text that a spreadsheet would take for a formula gets an apostrophe in
 * front of it, which makes it text there; numbers are ours and stay as they are.
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
