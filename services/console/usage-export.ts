import type { ApiKeyRecord } from '#accounts/account';
import { csvOf } from '#console/csv';
import type { AccountAdmin } from '#limiter/account-admin';
import { datesOf, usedByKey } from '#limiter/usage-views';

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
  const cells = rows.map((row) => COLUMNS.map((column) => row[column]));
  return BYTE_ORDER_MARK + csvOf([COLUMNS, ...cells]);
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
