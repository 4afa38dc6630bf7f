import { z } from 'zod';
import type { ApiKeyRecord } from '#accounts/account';
import { monthNameOf } from '#accounts/month';
import { shown } from '#console/answer';
import type { ConsolePorts } from '#console/console-ports';
import type { LiveSessions } from '#console/live-sessions';
import { type ConsoleRoute, callerRoute, checkedQuery } from '#console/route';
import { usageFile } from '#console/usage-export';
import { forecastOf } from '#console/usage-forecast';
import { viewOfMonth, viewOfUsage } from '#limiter/usage-views';
import { isoTime } from '#platform/iso-time';

type UsageParts = Pick<ConsolePorts, 'usage' | 'accounts' | 'clock'> & {
  readonly live: LiveSessions;
};

/** Query of `GET /api/usage/export`: one month, or all that are known. */
const ExportQuery = z.strictObject({
  format: z.enum(['csv', 'json']),
  month: z
    .string()
    .regex(/^\d{4}-\d{2}$/, { error: 'must be a month, as 2026-01' })
    .optional(),
});

const NEEDS = { permission: 'usage.read' } as const;

/** What the caller's account has used: its minute and month, its past months, and all as a file. */
export function usageRoutes({ live, usage, accounts, clock }: UsageParts): ConsoleRoute[] {
  const present = { method: 'GET', path: '/usage', ...NEEDS } as const;
  const past = { method: 'GET', path: '/usage/months', ...NEEDS } as const;
  const file = { method: 'GET', path: '/usage/export', isCostly: true, ...NEEDS } as const;
  const keysOf = async (accountId: string): Promise<readonly ApiKeyRecord[]> =>
    (await accounts.find(accountId))?.keys ?? [];
  return [
    callerRoute(live, present, async ({ caller: { membership } }) => {
      const { accountId } = membership;
      const used = await usage.usage(accountId);
      const view = viewOfUsage(accountId, used, await keysOf(accountId));
      const forecast = forecastOf(used, clock.wallMs());
      return shown({ ...view, ...(forecast && { forecast: viewOfForecast(forecast) }) });
    }),
    callerRoute(live, past, async ({ caller: { membership } }) => {
      const { accountId } = membership;
      const [months, keys] = [await usage.months(accountId), await keysOf(accountId)];
      return shown(months.map((month) => viewOfMonth(month, keys)));
    }),
    callerRoute(live, file, async ({ caller: { membership }, query }) => {
      const data = checkedQuery(ExportQuery, query);
      const { accountId } = membership;
      const [all, keys] = [await usage.months(accountId), await keysOf(accountId)];
      const isWanted = (name: string) => data.month === undefined || data.month === name;
      const months = all.filter(({ endsAtMs }) => isWanted(monthNameOf(endsAtMs - 1)));
      const name = `usage-${accountId}${data.month === undefined ? '' : `-${data.month}`}`;
      return usageFile(name, data.format, months, keys);
    }),
  ];
}

function viewOfForecast({ cycles, usedUpAtMs }: NonNullable<ReturnType<typeof forecastOf>>) {
  return { cycles, ...(usedUpAtMs !== undefined && { used_up_at: isoTime(usedUpAtMs) }) };
}
